//! Connections: how many there may be, which one goes when there are too many, and how long a silent one stays.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tower::Service as _;

use super::ended;
use super::stream::Impatient;

const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Content-Length: 32\r\nConnection: close\r\n\r\n{\"error\":\"too many connections\"}";

/// What a server allows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections. When one more comes, the one that was idle longest goes.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be idle.
    pub head: Duration,
    /// How long the other side may leave an answer unread.
    pub unread: Duration,
    /// How long requests under way may take when the broker ends.
    pub farewell: Duration,
}

impl Default for Limits {
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
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// Requests under way; streams count until they end.
    busy: AtomicUsize,
    /// Later use, higher number.
    used: AtomicU64,
    close: Notify,
}

impl Connection {
    /// The connection serves a stream from now on.
    pub(super) fn keep(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }
}

/// All open connections, by number.
#[derive(Debug, Default)]
struct Open {
    all: Mutex<HashMap<u64, Arc<Connection>>>,
    /// Counts arrivals and uses alike.
    turns: AtomicU64,
}

impl Open {
    fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more. Nothing when all are taken by requests under way: then the new one has to go.
    fn admit(&self, most: usize) -> Option<(u64, Arc<Connection>)> {
        let mut all = self.all();
        if all.len() >= most {
            let idle = all.iter().filter(|(_, connection)| connection.busy.load(Ordering::Relaxed) == 0);
            let oldest = idle.min_by_key(|(_, connection)| connection.used.load(Ordering::Relaxed));
            let oldest = oldest.map(|(number, _)| *number)?;
            if let Some(connection) = all.remove(&oldest) {
                connection.close.notify_one();
            }
        }
        let (number, connection) = (self.turn(), Arc::new(Connection::default()));
        connection.used.store(number, Ordering::Relaxed);
        all.insert(number, Arc::clone(&connection));
        Some((number, connection))
    }
}

/// Serves until `ending` turns true, then lets requests under way finish.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, mut ending: watch::Receiver<bool>) {
    let open = Arc::new(Open::default());
    let (gone, mut all_gone) = tokio::sync::mpsc::channel::<()>(1);
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
            () = ended(&mut ending) => break,
        };
        let Some((number, connection)) = open.admit(limits.connections) else {
            // Nobody waits for this to arrive.
            let _ = stream.try_write(TOO_MANY);
            continue;
        };
        let (router, open, gone, ending) = (router.clone(), Arc::clone(&open), gone.clone(), ending.clone());
        tokio::spawn(async move {
            converse(stream, router, limits, &open, connection, ending).await;
            open.all().remove(&number);
            drop(gone);
        });
    }
    drop(gone);
    let _ = tokio::time::timeout(limits.farewell, all_gone.recv()).await;
}

async fn converse(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    open: &Arc<Open>,
    connection: Arc<Connection>,
    mut ending: watch::Receiver<bool>,
) {
    // Answers are small and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let (this, open) = (Arc::clone(&connection), Arc::clone(open));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (mut router, connection, open) = (router.clone(), Arc::clone(&this), Arc::clone(&open));
        request.extensions_mut().insert(Arc::clone(&connection));
        connection.busy.fetch_add(1, Ordering::Relaxed);
        async move {
            let response = router.call(request.map(Body::new)).await;
            connection.used.store(open.turn(), Ordering::Relaxed);
            connection.busy.fetch_sub(1, Ordering::Relaxed);
            response
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(Impatient::new(stream, limits.unread)), service);
    tokio::pin!(served);
    tokio::select! {
        // What goes wrong on a connection concerns its other side alone.
        _ = served.as_mut() => {}
        () = connection.close.notified() => {}
        () = ended(&mut ending) => {
            served.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(limits.farewell, served.as_mut()).await;
        }
    }
}
