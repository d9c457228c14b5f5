//! Connections: how many there may be, which one goes when there are too many, and how long a silent one stays.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use paw_host::clock::Stopwatch;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use super::write_timeout::WriteTimeout;
use super::{ServerContext, answer, ended};

const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Content-Length: 32\r\nConnection: close\r\n\r\n{\"error\":\"too many connections\"}";

/// What a server allows.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Open connections. When one more comes, the one that was idle longest goes.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be idle.
    pub head: Duration,
    /// How long the other side may leave an answer unread.
    pub unread: Duration,
    /// How long requests under way may take when the broker ends.
    pub farewell: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        // The database, the watcher and everything else need files too.
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(4096);
        let connections = usize::try_from(files / 2).unwrap_or(1024).clamp(64, 1024);
        Self {
            connections,
            head: Duration::from_secs(30),
            unread: Duration::from_secs(30),
            farewell: Duration::from_secs(3),
        }
    }
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// Requests under way; streams count until they end.
    busy: AtomicUsize,
    /// When it came or was last of use, in milliseconds since the start.
    used: AtomicU64,
    /// Whether it shall finish what is under way, or go at once.
    leave: AtomicBool,
    notice: Notify,
}

impl Connection {
    /// The connection serves a stream from now on.
    pub(super) fn keep(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn go(&self) {
        self.notice.notify_one();
    }

    fn take_leave(&self) {
        self.leave.store(true, Ordering::Relaxed);
        self.notice.notify_one();
    }
}

/// All open connections.
#[derive(Debug)]
struct OpenConnections {
    all: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    started: Stopwatch,
}

impl OpenConnections {
    fn new() -> Self {
        Self { all: Mutex::default(), next: AtomicU64::new(0), started: Stopwatch::start() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more. Nothing when all are taken by requests under way: then the new one has to go.
    fn admit(&self, most: usize) -> Option<(u64, Arc<Connection>)> {
        let mut all = self.all();
        if all.len() >= most {
            let idle = all.iter().filter(|(_, connection)| connection.is_idle());
            let oldest = idle.min_by_key(|(number, connection)| (connection.used(), **number));
            let oldest = oldest.map(|(number, _)| *number)?;
            if let Some(connection) = all.remove(&oldest) {
                connection.go();
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            busy: AtomicUsize::new(0),
            used: AtomicU64::new(self.now()),
            leave: AtomicBool::new(false),
            notice: Notify::new(),
        });
        all.insert(number, Arc::clone(&connection));
        Some((number, connection))
    }

    /// Lets go of those that were silent for too long, whether between two requests or in the middle of a head. One
    /// look at all of them now and then is cheaper than a clock for each request.
    fn sweep(&self, limit: Duration) {
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let now = self.now();
        for connection in self.all().values() {
            if connection.is_idle() && now.saturating_sub(connection.used()) > limit {
                connection.go();
            }
        }
    }
}

/// Serves until `ending` turns true, then lets requests under way finish.
pub async fn serve(
    listener: TcpListener,
    app: Arc<ServerContext>,
    limits: ServerLimits,
    mut ending: watch::Receiver<bool>,
) {
    let open = Arc::new(OpenConnections::new());
    let (gone, mut all_gone) = tokio::sync::mpsc::channel::<()>(1);
    let mut sweeping = tokio::time::interval((limits.head / 4).max(Duration::from_millis(50)));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // No more files: others have to close some first.
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = sweeping.tick() => {
                open.sweep(limits.head);
                continue;
            }
            () = ended(&mut ending) => break,
        };
        let Some((number, connection)) = open.admit(limits.connections) else {
            // Nobody waits for this to arrive.
            let _ = stream.try_write(TOO_MANY);
            continue;
        };
        let (app, open, gone) = (Arc::clone(&app), Arc::clone(&open), gone.clone());
        tokio::spawn(async move {
            converse(stream, app, limits, &open, connection).await;
            open.all().remove(&number);
            drop(gone);
        });
    }
    drop((listener, gone));
    for connection in open.all().values() {
        connection.take_leave();
    }
    let _ = tokio::time::timeout(limits.farewell, all_gone.recv()).await;
}

async fn converse(
    stream: TcpStream,
    app: Arc<ServerContext>,
    limits: ServerLimits,
    open: &Arc<OpenConnections>,
    connection: Arc<Connection>,
) {
    // Answers are small and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let (this, open) = (Arc::clone(&connection), Arc::clone(open));
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, connection, open) = (Arc::clone(&app), Arc::clone(&this), Arc::clone(&open));
        connection.busy.fetch_add(1, Ordering::Relaxed);
        async move {
            let response = answer(&app, &connection, request).await;
            connection.used.store(open.now(), Ordering::Relaxed);
            connection.busy.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, limits.unread)), service);
    tokio::pin!(served);
    tokio::select! {
        // What goes wrong on a connection concerns its other side alone.
        _ = served.as_mut() => return,
        () = connection.notice.notified() => {}
    }
    if connection.leave.load(Ordering::Relaxed) {
        served.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(limits.farewell, served).await;
    }
}
