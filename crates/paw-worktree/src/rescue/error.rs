//! What can go wrong when work is stored or brought back.

use std::io;
use std::path::{Path, PathBuf};

use paw_core::PawError;
use paw_host::files::FileError;
use paw_host::git::GitError;

use crate::shown::some_of;

/// Work that could not be stored, found or brought back. Whoever wanted to remove something must not go on.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    #[error("no rescue '{0}'\nhint: git paw undo lists them")]
    NotFound(String),
    #[error("'{typed}' could be any of: {}\nhint: type more of the id", matching.join(", "))]
    Ambiguous { typed: String, matching: Vec<String> },
    #[error("rescue '{id}' cannot be read: {problem}\nhint: git show {commit} shows what is in it")]
    Unreadable { id: String, commit: String, problem: &'static str },
    #[error(
        "restoring would overwrite changes in {}: {}\n\
         hint: commit or move them first, restore into a new worktree, or use --force",
        dir.display(), some_of(paths)
    )]
    WouldOverwrite { dir: PathBuf, paths: Vec<PathBuf> },
    #[error("cannot restore into {}: it exists already\nhint: choose a path that does not exist", .0.display())]
    TargetExists(PathBuf),
    #[error("cannot restore into {}: it is not a directory", .0.display())]
    NoTarget(PathBuf),
    #[error(
        "nothing in rescue '{id}' is called {}\nhint: git paw undo show {id} lists its files",
        some_of(paths)
    )]
    NoSuchPath { id: String, paths: Vec<PathBuf> },
    #[error(
        "rescue '{0}' holds no record of a worktree\nhint: git paw undo restore {0} brings back what it holds"
    )]
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

impl From<RescueError> for PawError {
    fn from(error: RescueError) -> Self {
        match error {
            RescueError::Git(error) => error.into(),
            other => Self::WorktreeError(other.to_string()),
        }
    }
}
