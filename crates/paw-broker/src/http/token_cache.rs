//! The valid tokens. They are loaded again when a token is unknown, because another process may have just created it:
//! one request at a time, at a limited rate, and never on a thread that serves requests.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use paw_core::AgentId;
use paw_host::clock::Stopwatch;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::identity::{IdentityError, Keyring, SessionTokens, Token};
use crate::log::SessionId;

/// The shortest time between two loads that unknown tokens cause.
const MIN_RELOAD_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct TokenCache {
    keyring: Keyring,
    session: SessionId,
    loaded: RwLock<LoadedTokens>,
    /// Held while tokens are loaded; requests that wait for it use the result.
    reading: Mutex<()>,
}

#[derive(Debug)]
struct LoadedTokens {
    keys: SessionTokens,
    /// Started before the tokens were read.
    age: Stopwatch,
}

impl TokenCache {
    pub fn load(keyring: Keyring, session: SessionId) -> Result<Self, IdentityError> {
        let age = Stopwatch::start();
        let keys = keyring.load(&session)?;
        Ok(Self {
            keyring,
            session,
            loaded: RwLock::new(LoadedTokens { keys, age }),
            reading: Mutex::default(),
        })
    }

    /// The owner of a token.
    pub(super) async fn find_owner(&self, token: &Token) -> Option<AgentId> {
        if let Some(owner) = self.known_owner(token) {
            return Some(owner);
        }
        let arrived = Stopwatch::start();
        let _turn = self.reading.lock().await;
        if self.age() > arrived.elapsed() {
            // Also slows down guessing.
            tokio::time::sleep(MIN_RELOAD_INTERVAL.saturating_sub(self.age())).await;
            self.read().await;
        }
        self.known_owner(token)
    }

    /// Loads the tokens again, to learn about new and revoked ones.
    pub(crate) async fn refresh(&self) {
        let _turn = self.reading.lock().await;
        self.read().await;
    }

    async fn read(&self) {
        let age = Stopwatch::start();
        let (keyring, session) = (self.keyring.clone(), self.session.clone());
        match spawn_blocking(move || keyring.load(&session)).await {
            Ok(Ok(keys)) => {
                *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = LoadedTokens { keys, age };
            }
            Ok(Err(error)) => tracing::warn!(%error, "cannot load the tokens"),
            Err(_) => tracing::debug!("the runtime ended while tokens were loaded"),
        }
    }

    fn known_owner(&self, token: &Token) -> Option<AgentId> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).keys.owner(token).cloned()
    }

    /// Whether an agent has read messages on another host.
    pub(super) fn has_moved(&self, agent: &AgentId) -> bool {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).keys.has_moved(agent)
    }

    fn age(&self) -> Duration {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).age.elapsed()
    }
}
