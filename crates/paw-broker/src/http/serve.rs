//! Connections: their number, which one is closed when there are too many, and their timeouts.

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
use super::{ServerContext, ended, handle};

const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Content-Length: 32\r\nConnection: close\r\n\r\n{\"error\":\"too many connections\"}";

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Open connections. Above this, the connection that was idle longest is closed.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be idle.
    pub idle: Duration,
    /// How long the client may leave a response unread.
    pub unread: Duration,
    /// How long open requests may take when the broker shuts down.
    pub shutdown: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        // The database and the watcher need file descriptors, too.
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(4096);
        let connections = usize::try_from(files / 2).unwrap_or(1024).clamp(64, 1024);
        Self {
            connections,
            idle: Duration::from_secs(30),
            unread: Duration::from_secs(30),
            shutdown: Duration::from_secs(3),
        }
    }
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// Open requests; a stream counts until it ends.
    busy: AtomicUsize,
    /// When it was opened or last used, in milliseconds since the server started.
    last_used: AtomicU64,
    /// Whether to finish open requests before closing.
    gracefully: AtomicBool,
    close: Notify,
}

impl Connection {
    /// Marks the connection as serving a stream.
    pub(super) fn start_stream(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0
    }

    fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    fn close(&self) {
        self.close.notify_one();
    }

    fn close_gracefully(&self) {
        self.gracefully.store(true, Ordering::Relaxed);
        self.close.notify_one();
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

    /// Registers a connection, closing the oldest idle one if necessary. `None` if all connections are busy.
    fn admit(&self, most: usize) -> Option<(u64, Arc<Connection>)> {
        let mut all = self.all();
        if all.len() >= most {
            let idle = all.iter().filter(|(_, connection)| connection.is_idle());
            let oldest = idle.min_by_key(|(number, connection)| (connection.last_used(), **number));
            let oldest = oldest.map(|(number, _)| *number)?;
            if let Some(connection) = all.remove(&oldest) {
                connection.close();
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            busy: AtomicUsize::new(0),
            last_used: AtomicU64::new(self.now()),
            gracefully: AtomicBool::new(false),
            close: Notify::new(),
        });
        all.insert(number, Arc::clone(&connection));
        Some((number, connection))
    }

    /// Closes connections that were idle for too long, between two requests or in the middle of a head. A regular sweep
    /// is cheaper than a timer for each request.
    fn close_idle(&self, limit: Duration) {
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let now = self.now();
        for connection in self.all().values() {
            if connection.is_idle() && now.saturating_sub(connection.last_used()) > limit {
                connection.close();
            }
        }
    }
}

/// Serves until `ending` turns true, then lets open requests finish.
pub async fn serve(
    listener: TcpListener,
    app: Arc<ServerContext>,
    limits: ServerLimits,
    mut ending: watch::Receiver<bool>,
) {
    let open = Arc::new(OpenConnections::new());
    let (gone, mut all_gone) = tokio::sync::mpsc::channel::<()>(1);
    let mut sweeping = tokio::time::interval((limits.idle / 4).max(Duration::from_millis(50)));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors: wait until some are closed.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = sweeping.tick() => {
                open.close_idle(limits.idle);
                continue;
            }
            () = ended(&mut ending) => break,
        };
        let Some((number, connection)) = open.admit(limits.connections) else {
            // Best effort: the client may not get this.
            let _ = stream.try_write(TOO_MANY);
            continue;
        };
        let (app, open, gone) = (Arc::clone(&app), Arc::clone(&open), gone.clone());
        tokio::spawn(async move {
            serve_connection(stream, app, limits, &open, connection).await;
            open.all().remove(&number);
            drop(gone);
        });
    }
    drop((listener, gone));
    for connection in open.all().values() {
        connection.close_gracefully();
    }
    let _ = tokio::time::timeout(limits.shutdown, all_gone.recv()).await;
}

async fn serve_connection(
    stream: TcpStream,
    app: Arc<ServerContext>,
    limits: ServerLimits,
    open: &Arc<OpenConnections>,
    connection: Arc<Connection>,
) {
    // Responses are small, and a client waits for each.
    let _ = stream.set_nodelay(true);
    let (this, open) = (Arc::clone(&connection), Arc::clone(open));
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, connection, open) = (Arc::clone(&app), Arc::clone(&this), Arc::clone(&open));
        connection.busy.fetch_add(1, Ordering::Relaxed);
        async move {
            let response = handle(&app, &connection, request).await;
            connection.last_used.store(open.now(), Ordering::Relaxed);
            connection.busy.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, limits.unread)), service);
    tokio::pin!(served);
    tokio::select! {
        // Errors of a connection concern only its client.
        _ = served.as_mut() => return,
        () = connection.close.notified() => {}
    }
    if connection.gracefully.load(Ordering::Relaxed) {
        served.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(limits.shutdown, served).await;
    }
}
