//! What can end a merge before it is through. Main is then where it was, or at a commit that was proven.

use std::path::PathBuf;

use paw_broker::log::LogError;
use paw_core::{BranchName, PawError};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_worktree::rescue::RescueError;

/// A merge that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(
        "nothing to merge: this repository has no session\nhint: name the branches: git paw merge --only feat/a,feat/b"
    )]
    NoSession,
    #[error(
        "'{0}' is neither an agent of the session nor a local branch\nhint: git paw merge --dry-run shows who takes part"
    )]
    Unknown(String),
    #[error(
        "'{0}' is the branch that everything is merged into\nhint: name the branches that are to be merged"
    )]
    IntoItself(BranchName),
    #[error("no branch to merge into: {}\nhint: git branch main <commit>, or git remote set-head origin --auto",
        match .0 { Some(base) => format!("'{base}' does not exist here"), None => "HEAD is detached and there is no main".to_owned() })]
    NoBase(Option<BranchName>),
    #[error("another merge of this repository is running\nhint: wait until it has ended")]
    Busy,
    #[error("{} exists and is no worktree of a merge\nhint: move it away; merges are tested there", .0.display())]
    InTheWay(PathBuf),
    #[error("cannot read {}: {problem}\nhint: move it away; main is not touched by that", path.display())]
    Journal { path: PathBuf, problem: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Rescue(#[from] RescueError),
    #[error(transparent)]
    Log(#[from] LogError),
    /// The commit could not be put to the proof at all.
    #[error(transparent)]
    Proof(PawError),
}

impl From<MergeError> for PawError {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Git(error) => error.into(),
            MergeError::File(error) => error.into(),
            MergeError::Rescue(error) => error.into(),
            MergeError::Proof(error) => error,
            MergeError::Unknown(_) | MergeError::IntoItself(_) | MergeError::NoBase(_) => {
                Self::BranchError(error.to_string())
            }
            MergeError::NoSession
            | MergeError::Busy
            | MergeError::InTheWay(_)
            | MergeError::Journal { .. }
            | MergeError::Log(_) => Self::SessionError(error.to_string()),
        }
    }
}
