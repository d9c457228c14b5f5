//! Why a session cannot be started, said before anything was touched.

use std::path::PathBuf;

use paw_core::ErrorCode::{Internal, InvalidArgument};
use paw_core::{BranchName, Diagnostic, ErrorReport, PawError};

use crate::layout::TooManyAgents;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("nothing to start: no branch was chosen")]
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
    #[error("cannot start an agent on '{branch}': it is checked out in your own checkout {}", path.display())]
    OwnCheckout { branch: BranchName, path: PathBuf },
    #[error("cannot start an agent on '{branch}': it is checked out at {}", path.display())]
    CheckedOutElsewhere { branch: BranchName, path: PathBuf },
    #[error("branches '{one}' and '{other}' would share the directory {}", dir.display())]
    SameDirectory { one: BranchName, other: BranchName, dir: PathBuf },
    #[error("cannot make a worktree for '{branch}': {} exists and is something else", dir.display())]
    DirectoryTaken { branch: BranchName, dir: PathBuf },
}

impl Diagnostic for PlanError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::TooMany(error) => error.report(),
            Self::UnknownCli(name) => PawError::CliNotFound(name.clone()).report(),
            Self::NobodyToStart => report(InvalidArgument).hint("git paw start --branches feat/a,feat/b"),
            Self::BranchTwice(_) | Self::BranchInTheWay { .. } => report(InvalidArgument),
            Self::OwnCheckout { .. } => report(InvalidArgument)
                .hint("name another branch, or switch the checkout to another one first"),
            Self::CheckedOutElsewhere { .. } => {
                report(InvalidArgument).hint("git paw worktree remove, or name another branch")
            }
            Self::SameDirectory { .. } => report(Internal).hint("rename one of them"),
            Self::DirectoryTaken { .. } => report(Internal).hint("move it away"),
        }
    }
}
