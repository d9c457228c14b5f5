//! What can go wrong when work is stored or brought back.

use std::io;
use std::path::{Path, PathBuf};

use paw_core::ErrorCode::{AlreadyExists, FailedPrecondition, Internal, InvalidArgument, NotFound};
use paw_core::text::first_paths;
use paw_core::{Diagnostic, ErrorReport};
use paw_host::files::FileError;
use paw_host::git::GitError;

/// Work that could not be stored, found or brought back. A removal must not continue after it.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    #[error("no rescue '{0}'")]
    NotFound(String),
    #[error("'{typed}' could be any of: {}", matching.join(", "))]
    Ambiguous { typed: String, matching: Vec<String> },
    #[error("rescue '{id}' cannot be read: {problem}")]
    Unreadable { id: String, commit: String, problem: &'static str },
    #[error("restoring would overwrite changes in {}: {}", dir.display(), first_paths(paths))]
    WouldOverwrite { dir: PathBuf, paths: Vec<PathBuf> },
    #[error("cannot restore into {}: it exists already", .0.display())]
    TargetExists(PathBuf),
    #[error("cannot restore into {}: it is not a directory", .0.display())]
    NoTarget(PathBuf),
    #[error("nothing in rescue '{id}' is called {}", first_paths(paths))]
    NoSuchPath { id: String, paths: Vec<PathBuf> },
    #[error("rescue '{0}' holds no record of a worktree")]
    NotARecord(String),
    #[error("cannot link {} again: {problem}", dir.display())]
    CannotRelink { dir: PathBuf, problem: String },
    #[error("branch '{0}' does not exist, so there is no tip to keep")]
    NoBranch(String),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

impl RescueError {
    pub(super) fn when(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }
}

impl From<FileError> for RescueError {
    fn from(FileError { action, path, source }: FileError) -> Self {
        Self::File { action, path, source }
    }
}

impl Diagnostic for RescueError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NotFound(_) => report(NotFound).hint("git paw undo lists them"),
            Self::Ambiguous { .. } => report(InvalidArgument).hint("type more of the id"),
            Self::Unreadable { commit, .. } => {
                report(Internal).hint(format!("git show {commit} shows what is in it"))
            }
            Self::WouldOverwrite { .. } => report(FailedPrecondition)
                .hint("commit or move them first, restore into a new worktree, or use --force"),
            Self::TargetExists(_) => report(AlreadyExists).hint("choose a path that does not exist"),
            Self::NoTarget(_) => report(InvalidArgument),
            Self::NoSuchPath { id, .. } => {
                report(NotFound).hint(format!("git paw undo show {id} lists its files"))
            }
            Self::NotARecord(id) => report(FailedPrecondition)
                .hint(format!("git paw undo restore {id} brings back what it holds")),
            Self::CannotRelink { .. } | Self::NoBranch(_) | Self::File { .. } => report(Internal),
            Self::Git(error) => error.report(),
        }
    }
}
