//! The broker over HTTP. Every request is looked at before it is read: where it was meant to go, which page sent it,
//! who sends it, and how much it brings.
//!
//! - `admit`: Host, Origin and token
//! - `publish`, `inbox`, `status`, `watch`, `events`: one file per endpoint
//! - `serve`: connections, how many and how long
//! - `answer`: errors as JSON

mod admit;
mod answer;
mod events;
mod inbox;
mod publish;
mod serve;
mod status;
mod stream;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use paw_core::config::BrokerAuth;
use paw_host::clock::Stopwatch;
use tokio::sync::{mpsc, watch as flag};

pub use admit::Address;
pub use serve::{Limits, serve};
pub use watch::WatchRequest;

use crate::bus::Bus;
use crate::identity::{Keyring, Keys};

/// The longest message that is taken.
pub const LARGEST_BODY: usize = 256 << 10;
/// The keys are not read more often than this for the sake of unknown tokens.
const KEYS_AGAIN: Duration = Duration::from_millis(20);

/// What every request can see.
#[derive(Debug)]
pub struct App {
    pub bus: Arc<Bus>,
    pub keyring: Keyring,
    pub auth: BrokerAuth,
    pub address: Address,
    pub repository: PathBuf,
    /// Worktrees that shall be watched.
    pub watches: mpsc::Sender<WatchRequest>,
    /// Turns true when the broker ends.
    pub ending: flag::Receiver<bool>,
    pub keys: RwLock<(Keys, Stopwatch)>,
    pub started: Stopwatch,
    /// Large bodies that may be in memory at once.
    pub large_bodies: tokio::sync::Semaphore,
}

impl App {
    /// Reads the keys again, so that a token made by another process is known and a revoked one is not.
    pub fn refresh_keys(&self) {
        match self.keyring.load(self.bus.session()) {
            Ok(keys) => {
                let now = Stopwatch::start();
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = (keys, now);
            }
            Err(error) => tracing::warn!(%error, "cannot read the tokens"),
        }
    }
}

/// Every endpoint, behind the checks that all of them share.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/publish", post(publish::publish))
        .route("/messages/{*agent}", get(inbox::messages))
        .route("/log", get(inbox::log))
        .route("/status", get(status::status))
        .route("/watch", post(watch::watch))
        .route("/events", get(events::events))
        .fallback(|| async { answer::ApiError::not_found() })
        .method_not_allowed_fallback(|| async { answer::ApiError::method_not_allowed() })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), at_the_door))
        .with_state(app)
}

async fn at_the_door(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match admit::at_the_door(&app.address, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

/// Waits until the broker ends.
async fn ended(ending: &mut flag::Receiver<bool>) {
    // A sender that is gone has ended too.
    let _ = ending.wait_for(|ending| *ending).await;
}
