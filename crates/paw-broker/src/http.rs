//! The HTTP server of the broker. Every request is checked before its body is read: `Host`, `Origin`, token and size.
//!
//! - `access`: checks of `Host`, `Origin` and token; `token_cache`: the valid tokens
//! - `publish`, `inbox`, `status`, `watch`, `events`, `run`: one file per endpoint
//! - `serve`: connections and their limits; `write_timeout`: closes a connection whose client stops reading
//! - `waiting`: how many streams and long polls may be open
//! - `response`, `stream_body`: responses, streams, and errors as JSON

mod access;
mod events;
mod inbox;
mod publish;
mod response;
mod run;
mod serve;
mod status;
mod stream_body;
mod token_cache;
mod waiting;
mod watch;
mod write_timeout;

use std::path::PathBuf;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use paw_core::config::BrokerAuth;
use paw_host::clock::Stopwatch;
use tokio::sync::{mpsc, watch as flag};

pub use access::ServerAddress;
use response::{ApiError, Response};
pub use run::{RunEvent, RunRequest};
use serve::Connection;
pub use serve::{ServerLimits, serve};
pub use token_cache::TokenCache;
pub use waiting::WaitingRequests;
pub use watch::WatchRequest;

use crate::bus::Bus;

const ENDPOINTS: [&str; 6] = ["/publish", "/status", "/log", "/watch", "/events", "/run"];
/// The largest message in bytes.
pub const LARGEST_BODY: usize = 256 << 10;

/// What every request handler needs.
#[derive(Debug)]
pub struct ServerContext {
    pub bus: Arc<Bus>,
    pub tokens: TokenCache,
    pub auth: BrokerAuth,
    pub address: ServerAddress,
    pub repository: PathBuf,
    /// Requests to watch a worktree.
    pub watches: mpsc::Sender<WatchRequest>,
    /// Requests to run something in the session's process.
    pub runs: mpsc::Sender<RunRequest>,
    /// Turns true when the broker shuts down.
    pub ending: flag::Receiver<bool>,
    pub started: Stopwatch,
    /// Limits how many large bodies are in memory at once.
    pub large_bodies: tokio::sync::Semaphore,
    /// Limits how many streams and long polls are open at once.
    pub waiting: WaitingRequests,
}

/// Handles one request.
async fn handle(app: &Arc<ServerContext>, connection: &Connection, request: Request<Incoming>) -> Response {
    let (head, body) = request.into_parts();
    let response = match access::check_host_and_origin(app.address, &head) {
        Ok(()) => dispatch(app, connection, &head, body).await,
        Err(refused) => Err(refused),
    };
    response.unwrap_or_else(ApiError::into_response)
}

async fn dispatch(
    app: &Arc<ServerContext>,
    connection: &Connection,
    head: &Parts,
    body: Incoming,
) -> Result<Response, ApiError> {
    let path = head.uri.path();
    match (head.method.as_str(), path) {
        ("POST", "/publish") => publish::publish(app, head, body).await,
        ("GET", "/status") => Ok(status::status(app, head).await),
        ("GET", "/log") => inbox::log(app, head).await,
        ("POST", "/watch") => watch::watch(app, head, body).await,
        ("GET", "/events") => events::events(app, connection, head).await,
        ("POST", "/run") => run::run(app, connection, head, body).await,
        (method, path) => match path.strip_prefix("/messages/") {
            Some(agent) if method == "GET" => inbox::messages(app, head, agent).await,
            Some(_) => Err(ApiError::method_not_allowed()),
            None if ENDPOINTS.contains(&path) => Err(ApiError::method_not_allowed()),
            None => Err(ApiError::not_found()),
        },
    }
}

/// Waits until the broker shuts down.
async fn ended(ending: &mut flag::Receiver<bool>) {
    // A dropped sender also means shutdown.
    let _ = ending.wait_for(|ending| *ending).await;
}
