//! Errors that stop a merge. Main is then unchanged, or at a commit that was tested.

use std::path::PathBuf;

use paw_broker::log::LogError;
use paw_core::ErrorCode::{FailedPrecondition, InvalidArgument};
use paw_core::receipt::AgentLookupError;
use paw_core::{BranchName, Diagnostic, ErrorReport, PawError};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_worktree::rescue::RescueError;

use crate::gates::GateError;

/// Why a merge cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("nothing to merge: this repository has no session")]
    NoSession,
    #[error("'{0}' is neither an agent of the session nor a local branch")]
    Unknown(String),
    #[error(transparent)]
    Ambiguous(#[from] AgentLookupError),
    #[error("cannot merge '{0}' into itself")]
    IntoItself(BranchName),
    #[error("no branch to merge into: {}",
        match .0 { Some(base) => format!("'{base}' does not exist here"), None => "HEAD is detached and there is no main".to_owned() })]
    NoBase(Option<BranchName>),
    #[error("another merge is running in this repository")]
    Busy,
    #[error("cannot read {}: {problem}", path.display())]
    Journal { path: PathBuf, problem: String },
    #[error(transparent)]
    Gates(#[from] GateError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Rescue(#[from] RescueError),
    #[error(transparent)]
    Log(#[from] LogError),
    /// The tests could not be run.
    #[error(transparent)]
    Proof(PawError),
}

impl Diagnostic for MergeError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NoSession => {
                report(FailedPrecondition).hint("name the branches: git paw merge --only feat/a,feat/b")
            }
            Self::Unknown(_) => {
                report(InvalidArgument).hint("git paw merge --dry-run lists the branches of the session")
            }
            Self::IntoItself(_) => report(InvalidArgument).hint("name the branches to merge"),
            Self::NoBase(_) => {
                report(InvalidArgument).hint("git branch main <commit>, or git remote set-head origin --auto")
            }
            Self::Busy => report(FailedPrecondition).hint("wait until it has finished"),
            Self::Journal { .. } => {
                report(FailedPrecondition).hint("move it away; this does not change main")
            }
            Self::Gates(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Rescue(error) => error.report(),
            Self::Log(error) => error.report(),
            Self::Proof(error) => error.report(),
            Self::Ambiguous(error) => error.report(),
        }
    }
}
