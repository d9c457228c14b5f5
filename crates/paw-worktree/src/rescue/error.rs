//! Errors of storing and restoring rescues.

use std::io;
use std::path::{Path, PathBuf};

use paw_core::ErrorCode::{AlreadyExists, FailedPrecondition, Internal, InvalidArgument, NotFound};
use paw_core::text::first_paths;
use paw_core::{Diagnostic, ErrorReport};
use paw_host::files::FileError;
use paw_host::git::GitError;

/// Why work could not be stored, found or restored. A removal must not continue after this error.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    #[error("no rescue '{0}'")]
    NotFound(String),
    #[error("rescue id '{typed}' is ambiguous: {}", matching.join(", "))]
    Ambiguous { typed: String, matching: Vec<String> },
    #[error("rescue '{id}' cannot be read: {problem}")]
    Unreadable { id: String, commit: String, problem: &'static str },
    #[error("restoring would overwrite changes in {}: {}", dir.display(), first_paths(paths))]
    WouldOverwrite { dir: PathBuf, paths: Vec<PathBuf> },
    #[error("cannot restore into {}: it already exists", .0.display())]
    TargetExists(PathBuf),
    #[error("cannot restore into {}: it is not a directory", .0.display())]
    NoTarget(PathBuf),
    #[error("rescue '{id}' does not contain {}", first_paths(paths))]
    NoSuchPath { id: String, paths: Vec<PathBuf> },
    #[error("rescue '{0}' is not a worktree record")]
    NotARecord(String),
    #[error("cannot relink {}: {problem}", dir.display())]
    CannotRelink { dir: PathBuf, problem: String },
    #[error("cannot store the tip of branch '{0}': it does not exist")]
    NoBranch(String),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

impl RescueError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
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
            Self::NotFound(_) => report(NotFound).hint("run 'git paw undo' to list rescues"),
            Self::Ambiguous { .. } => report(InvalidArgument).hint("use a longer prefix of the id"),
            Self::Unreadable { commit, .. } => {
                report(Internal).hint(format!("run 'git show {commit}' to inspect it"))
            }
            Self::WouldOverwrite { .. } => report(FailedPrecondition)
                .hint("commit or move them first, restore into a new worktree, or use --force"),
            Self::TargetExists(_) => report(AlreadyExists).hint("choose a path that does not exist"),
            Self::NoTarget(_) => report(InvalidArgument),
            Self::NoSuchPath { id, .. } => {
                report(NotFound).hint(format!("run 'git paw undo show {id}' to list its files"))
            }
            Self::NotARecord(id) => report(FailedPrecondition)
                .hint(format!("run 'git paw undo restore {id}' to restore its files")),
            Self::CannotRelink { .. } | Self::NoBranch(_) | Self::File { .. } => report(Internal),
            Self::Git(error) => error.report(),
        }
    }
}
