//! Why a session cannot be started, said before anything was touched.

use std::path::PathBuf;

use paw_core::{BranchName, PawError};

use crate::layout::TooManyAgents;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("nobody to start: no branch was chosen\nhint: git paw start --branches feat/a,feat/b")]
    NobodyToStart,
    #[error(transparent)]
    TooMany(#[from] TooManyAgents),
    #[error("{0}")]
    UnknownCli(String),
    #[error("branch '{0}' was named twice: an agent needs a branch of its own")]
    BranchTwice(BranchName),
    #[error(
        "branch '{wanted}' cannot exist beside branch '{other}': git keeps one as a directory of the other"
    )]
    BranchInTheWay { wanted: BranchName, other: BranchName },
    #[error(
        "cannot start an agent on '{branch}': it is checked out in your own checkout {}\n\
         hint: name another branch, or switch the checkout to another one first",
        path.display()
    )]
    OwnCheckout { branch: BranchName, path: PathBuf },
    #[error(
        "cannot start an agent on '{branch}': it is checked out at {}\n\
         hint: git paw worktree remove, or name another branch",
        path.display()
    )]
    CheckedOutElsewhere { branch: BranchName, path: PathBuf },
    #[error(
        "branches '{one}' and '{other}' would share the directory {}\nhint: rename one of them",
        dir.display()
    )]
    SameDirectory { one: BranchName, other: BranchName, dir: PathBuf },
    #[error(
        "cannot make a worktree for '{branch}': {} exists and is something else\nhint: move it away",
        dir.display()
    )]
    DirectoryTaken { branch: BranchName, dir: PathBuf },
}

impl From<PlanError> for PawError {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::TooMany(error) => error.into(),
            PlanError::UnknownCli(name) => Self::CliNotFound(name),
            PlanError::NobodyToStart
            | PlanError::BranchTwice(_)
            | PlanError::BranchInTheWay { .. }
            | PlanError::OwnCheckout { .. }
            | PlanError::CheckedOutElsewhere { .. } => Self::BranchError(error.to_string()),
            PlanError::SameDirectory { .. } | PlanError::DirectoryTaken { .. } => {
                Self::WorktreeError(error.to_string())
            }
        }
    }
}
