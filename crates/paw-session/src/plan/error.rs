//! Why a session cannot start, detected before anything changed.

use std::path::PathBuf;

use paw_core::ErrorCode::{AlreadyExists, Internal, InvalidArgument};
use paw_core::{BranchName, Diagnostic, ErrorReport, PawError};

use crate::layout::TooManyAgents;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("nothing to start: no branch was chosen")]
    NoAgents,
    #[error(transparent)]
    TooMany(#[from] TooManyAgents),
    #[error("{0}")]
    UnknownCli(String),
    #[error("branch '{0}' was given twice: every agent needs its own branch")]
    BranchTwice(BranchName),
    #[error(
        "branch '{wanted}' conflicts with branch '{other}': git cannot store a branch as both a file and a directory"
    )]
    BranchConflict { wanted: BranchName, other: BranchName },
    #[error("cannot start an agent on '{branch}': it is already checked out in your main checkout {}", path.display())]
    OwnCheckout { branch: BranchName, path: PathBuf },
    #[error("cannot start an agent on '{branch}': it is already checked out at {}", path.display())]
    CheckedOutElsewhere { branch: BranchName, path: PathBuf },
    #[error("branches '{one}' and '{other}' would share the directory {}", dir.display())]
    SameDirectory { one: BranchName, other: BranchName, dir: PathBuf },
    #[error("cannot create a worktree for '{branch}': path '{}' already exists and is not its worktree", dir.display())]
    DirectoryTaken { branch: BranchName, dir: PathBuf },
}

impl Diagnostic for PlanError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::TooMany(error) => error.report(),
            Self::UnknownCli(name) => PawError::CliNotFound(name.clone()).report(),
            Self::NoAgents => report(InvalidArgument).hint("git paw start --branches feat/a,feat/b"),
            Self::BranchTwice(_) | Self::BranchConflict { .. } => report(InvalidArgument),
            Self::OwnCheckout { .. } => report(AlreadyExists)
                .hint("use another branch, or switch the main checkout to another branch"),
            Self::CheckedOutElsewhere { .. } => {
                report(AlreadyExists).hint("use another branch, or run 'git paw worktree remove'")
            }
            Self::SameDirectory { .. } => report(Internal).hint("rename one of the branches"),
            Self::DirectoryTaken { .. } => {
                report(AlreadyExists).hint("move or remove it, or use a branch with another name")
            }
        }
    }
}
