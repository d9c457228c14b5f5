//! The tokens of a repository: hashes in the log, and the operator's token in a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_core::paths::PawDir;
use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::{self, Access, FileError};

use super::{SessionTokens, Token};
use crate::log::{LogError, MessageLog, SessionId};

/// A token cannot be created or stored.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot create a token: the system's random number generator failed ({0})")]
    NoRandomness(String),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for IdentityError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::NoRandomness(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self),
            Self::Log(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// The tokens of a repository.
#[derive(Debug, Clone)]
pub struct Keyring {
    log: Arc<dyn MessageLog>,
    operator_file: PathBuf,
}

impl Keyring {
    /// The keyring of `log`, with the operator's token in `paw_dir`.
    pub fn new(log: &Arc<dyn MessageLog>, paw_dir: &Path) -> Self {
        Self { log: Arc::clone(log), operator_file: PawDir::at(paw_dir).operator_token() }
    }

    /// Creates a token for an agent, and revokes its older token in the same session.
    pub fn mint(&self, session: &SessionId, agent: &AgentId) -> Result<Token, IdentityError> {
        let token = Token::mint()?;
        self.log.save_token(Some(session), agent, token.hash())?;
        Ok(token)
    }

    /// Revokes an agent's token.
    pub fn revoke(&self, session: &SessionId, agent: &AgentId) -> Result<(), IdentityError> {
        Ok(self.log.delete_token(session, agent)?)
    }

    /// The operator's token, created if it is missing. It belongs to the repository and is valid in every session.
    pub fn operator(&self) -> Result<Token, IdentityError> {
        let found = files::load_text(&self.operator_file)?.map(|text| Token::from_text(&text));
        let token = if let Some(token) = found.filter(|token| !token.reveal().is_empty()) {
            token
        } else {
            let token = Token::mint()?;
            files::write_atomic(&self.operator_file, token.reveal().as_bytes(), Access::Private)?;
            token
        };
        // The file wins: the log may have been replaced.
        self.log.save_token(None, &AgentId::operator(), token.hash())?;
        Ok(token)
    }

    /// Loads the tokens of a session's agents and of the operator.
    pub fn load(&self, session: &SessionId) -> Result<SessionTokens, IdentityError> {
        let tokens = SessionTokens::new(self.log.load_tokens(session)?);
        Ok(tokens.with_moved(self.log.load_moved_agents()?))
    }
}
