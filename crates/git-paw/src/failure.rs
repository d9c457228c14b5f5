//! Why a command did not do what it was asked, with what a program needs to act on it.

use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_worktree::WorktreeError;
use paw_worktree::rescue::RescueError;
use serde_json::{Value, json};

/// An error of any crate below, kept as it is.
#[derive(Debug)]
pub(crate) enum Failure {
    General(PawError),
    Worktree(WorktreeError),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::General(error) => error.exit_code(),
            Self::Worktree(_) => EXIT_FAILURE,
        }
    }

    /// For people, hints included.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::General(error) => error.to_string(),
            Self::Worktree(error) => error.to_string(),
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Self::General(PawError::UserCancelled))
    }

    /// For programs: a code, the message, and details where there are some.
    pub(crate) fn document(&self) -> Value {
        let (code, message, details) = match self {
            Self::General(error) => (code_of(error), error.to_string(), Value::Null),
            Self::Worktree(error) => (error.code().as_str(), error.message(), error.details()),
        };
        let mut document = json!({"error": {"code": code, "message": message}});
        if !is_empty(&details) {
            document["error"]["details"] = details;
        }
        document
    }
}

fn is_empty(details: &Value) -> bool {
    details.is_null() || details.as_object().is_some_and(serde_json::Map::is_empty)
}

fn code_of(error: &PawError) -> &'static str {
    match error {
        PawError::UserCancelled => "CANCELLED",
        PawError::CliNotFound(_) | PawError::NoCLIsFound | PawError::SkillError(_) => "NOT_FOUND",
        PawError::ConfigError(_) | PawError::BranchError(_) => "INVALID_ARGUMENT",
        PawError::NotAGitRepo
        | PawError::GitNotInstalled
        | PawError::GitTooOld { .. }
        | PawError::TmuxNotInstalled
        | PawError::TmuxTooOld { .. }
        | PawError::SessionError(_)
        | PawError::SpecError(_)
        | PawError::TaskError(_) => "FAILED_PRECONDITION",
        PawError::WorktreeError(_)
        | PawError::TmuxError(_)
        | PawError::InitError(_)
        | PawError::AgentsMdError(_)
        | PawError::ReplayError(_)
        | PawError::DashboardError(_)
        | PawError::GitError(_)
        | PawError::IoError(_)
        | PawError::BrokerError(_) => "INTERNAL",
    }
}

impl From<PawError> for Failure {
    fn from(error: PawError) -> Self {
        Self::General(error)
    }
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        Self::Worktree(error)
    }
}

impl From<RescueError> for Failure {
    fn from(error: RescueError) -> Self {
        Self::Worktree(error.into())
    }
}
