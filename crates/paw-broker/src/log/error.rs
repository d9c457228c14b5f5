//! Errors of the log.

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::sqlite::{self, SqliteError};

/// The log cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Open(#[from] SqliteError),
    #[error("cannot write the message log: the disk is full")]
    Full,
    #[error("the message log is damaged: {0}")]
    Damaged(String),
    #[error("cannot use the message log: {0}")]
    Failed(String),
    #[error("the session was purged")]
    Purged,
    #[error("the broker is shutting down")]
    Closed,
}

impl LogError {
    /// A copy of the error for every publisher in the same commit.
    pub(super) fn duplicate(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Closed => Self::Closed,
            Self::Purged => Self::Purged,
            Self::Failed(text) => Self::Failed(text.clone()),
            Self::Damaged(text) => Self::Damaged(text.clone()),
            Self::Open(SqliteError::Damaged { source, .. }) => Self::Damaged(source.to_string()),
            Self::Open(error) => Self::Failed(error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for LogError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            // Sequence numbers and ids are unique, so two equal ones are damage.
            Some(rusqlite::ErrorCode::ConstraintViolation) => Self::Damaged(error.to_string()),
            _ if sqlite::is_damage(&error) => Self::Damaged(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl Diagnostic for LogError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::Internal, self);
        match self {
            Self::Open(error) => error.report(),
            Self::Full => report.hint("free disk space, then send the message again"),
            Self::Damaged(_) => report.hint(sqlite::REPAIR),
            Self::Purged => ErrorReport::new(ErrorCode::FailedPrecondition, self),
            Self::Failed(_) | Self::Closed => report,
        }
    }
}
