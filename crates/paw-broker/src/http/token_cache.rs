//! Whose tokens the server knows. They are read again when a token is unknown, because another process may have made
//! it a moment ago: by one request at a time, at a bounded pace, and never on a thread that serves requests.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use paw_core::AgentId;
use paw_host::clock::Stopwatch;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::identity::{IdentityError, Keyring, SessionTokens, Token};
use crate::log::SessionId;

/// Unknown tokens have the keys read again at most this often.
const PACE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct TokenCache {
    keyring: Keyring,
    session: SessionId,
    loaded: RwLock<LoadedTokens>,
    /// Held while the keys are read; requests that wait for it use what was found.
    reading: Mutex<()>,
}

#[derive(Debug)]
struct LoadedTokens {
    keys: SessionTokens,
    /// Started before the keys were read.
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

    /// The owner of a token that is valid now.
    pub(super) async fn owner(&self, token: &Token) -> Option<AgentId> {
        if let Some(owner) = self.known_owner(token) {
            return Some(owner);
        }
        let arrived = Stopwatch::start();
        let _turn = self.reading.lock().await;
        if self.age() > arrived.elapsed() {
            // Slows down guesses, too.
            tokio::time::sleep(PACE.saturating_sub(self.age())).await;
            self.read().await;
        }
        self.known_owner(token)
    }

    /// Reads the keys again, so that new tokens are known and revoked ones are not.
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
            Ok(Err(error)) => tracing::warn!(%error, "cannot read the tokens"),
            Err(_) => tracing::debug!("the runtime ended while tokens were read"),
        }
    }

    fn known_owner(&self, token: &Token) -> Option<AgentId> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).keys.owner(token).cloned()
    }

    fn age(&self) -> Duration {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).age.elapsed()
    }
}
