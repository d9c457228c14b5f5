//! Where tokens' hashes are kept, and the operator's token itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError};
use paw_host::files::{self, Access, FileError};
use rusqlite::params;

use super::{Keys, Token, TokenHash};
use crate::log::{Database, LogError, SessionId, SqliteLog};

/// The operator belongs to the repository, whatever the session.
const EVERY_SESSION: &str = "";

/// A token that cannot be made or kept.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot make a token: the system gives no randomness ({0})")]
    NoRandomness(String),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<IdentityError> for PawError {
    fn from(error: IdentityError) -> Self {
        Self::SessionError(error.to_string())
    }
}

/// The tokens of a repository.
#[derive(Debug, Clone)]
pub struct Keyring {
    database: Arc<Database>,
    operator_file: PathBuf,
}

impl Keyring {
    /// The keyring beside `log`, in the repository's own directory for us.
    pub fn new(log: &SqliteLog, paw_dir: &Path) -> Self {
        Self { database: Arc::clone(log.database()), operator_file: PawDir::at(paw_dir).operator_token() }
    }

    /// A new token for an agent. An older one of the same agent in the same session is worth nothing from now on.
    pub fn mint(&self, session: &SessionId, agent: &AgentId) -> Result<Token, IdentityError> {
        let token = Token::mint()?;
        self.keep(session.as_str(), agent.as_str(), token.hash())?;
        Ok(token)
    }

    /// Makes an agent's token worthless.
    pub fn revoke(&self, session: &SessionId, agent: &AgentId) -> Result<(), IdentityError> {
        let delete = "DELETE FROM token WHERE session = ?1 AND agent = ?2";
        let done = self.database.writer().execute(delete, params![session.as_str(), agent.as_str()]);
        done.map_err(LogError::from)?;
        Ok(())
    }

    /// The token of the person at the keyboard, made when there is none that fits.
    pub fn operator(&self) -> Result<Token, IdentityError> {
        if let Some(text) = files::load_text(&self.operator_file)? {
            let token = Token::from_text(&text);
            if !token.reveal().is_empty() {
                // The file decides: the database may have been moved away.
                self.keep(EVERY_SESSION, AgentId::OPERATOR, token.hash())?;
                return Ok(token);
            }
        }
        let token = Token::mint()?;
        files::write_atomic(&self.operator_file, token.reveal().as_bytes(), Access::Private)?;
        self.keep(EVERY_SESSION, AgentId::OPERATOR, token.hash())?;
        Ok(token)
    }

    /// Everybody of a session, the operator included.
    pub fn load(&self, session: &SessionId) -> Result<Keys, IdentityError> {
        let keys = self.database.read(|connection| {
            let query = "SELECT agent, hash FROM token WHERE session IN (?1, ?2)";
            let mut statement = connection.prepare_cached(query)?;
            let rows = statement.query_map([session.as_str(), EVERY_SESSION], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, [u8; 32]>(1)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let keys = keys.into_iter().filter_map(|(agent, hash)| {
            AgentId::new(agent).ok().map(|agent| (agent, TokenHash::from_bytes(hash)))
        });
        Ok(Keys::new(keys.collect()))
    }

    fn keep(&self, session: &str, agent: &str, hash: TokenHash) -> Result<(), LogError> {
        let keep =
            "INSERT INTO token VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET hash = ?3 WHERE hash <> ?3";
        self.database.writer().execute(keep, params![session, agent, hash.as_bytes()])?;
        Ok(())
    }
}
