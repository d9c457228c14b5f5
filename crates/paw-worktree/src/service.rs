//! [`Worktrees`]: what commands and the daemon hold. Cheap to clone, and good for several threads and processes.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use paw_core::paths::DataDir;
use paw_host::clock;
use paw_host::disk;
use paw_host::files::Lock;
use paw_host::git::{GitError, Repo};

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::registry::Registry;

type FreeBytes = dyn Fn(&Path) -> io::Result<u64> + Send + Sync;

/// All worktrees of this user.
#[derive(Clone)]
pub struct Worktrees {
    pub(crate) registry: Registry,
    data: DataDir,
    free_bytes: Arc<FreeBytes>,
}

impl fmt::Debug for Worktrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worktrees").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl Worktrees {
    /// Opens the registry in our data directory, and repairs what a process that died has left half done.
    pub fn open(data_dir: &Path) -> Result<Self, WorktreeError> {
        let data = DataDir::of(data_dir);
        let registry = Registry::open(&data.registry())?;
        let worktrees = Self { registry, data, free_bytes: Arc::new(free_bytes) };
        worktrees.recover()?;
        Ok(worktrees)
    }

    /// The rows themselves and the conversations bound to them.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// For tests of a full disk.
    #[doc(hidden)]
    #[must_use]
    pub fn with_free_bytes(self, probe: impl Fn(&Path) -> io::Result<u64> + Send + Sync + 'static) -> Self {
        Self { free_bytes: Arc::new(probe), ..self }
    }

    /// Space that is left where `path` would be. A file system that does not say is not full.
    pub(crate) fn free_bytes(&self, path: &Path) -> u64 {
        (self.free_bytes)(path).unwrap_or(u64::MAX)
    }

    /// Claims a row for an operation, or nothing when another process works on it.
    pub(crate) fn try_begin(&self, id: &WorktreeId) -> Result<Option<OperationGuard>, WorktreeError> {
        let file = self.data.operation_lock(id);
        Ok(Lock::try_take(&file)?.map(|lock| OperationGuard { file, _lock: lock }))
    }
}

#[cfg(not(debug_assertions))]
fn free_bytes(path: &Path) -> io::Result<u64> {
    disk::free_bytes(path)
}

/// A debug build can be told how full the disk is, so that commands can be tested on it.
#[cfg(debug_assertions)]
fn free_bytes(path: &Path) -> io::Result<u64> {
    let told = std::env::var("GIT_PAW_TEST_FREE_BYTES").ok().and_then(|bytes| bytes.parse().ok());
    told.map_or_else(|| disk::free_bytes(path), Ok)
}

/// Says to other processes that somebody works on a row. Ends with this process, however it ends.
#[derive(Debug)]
pub(crate) struct OperationGuard {
    file: PathBuf,
    _lock: Lock,
}

impl Drop for OperationGuard {
    fn drop(&mut self) {
        // Whoever opens it again afterwards looks at the row before it does anything.
        let _ = fs::remove_file(&self.file);
    }
}

/// The repository a path belongs to, or an error that says what is wrong with the path.
pub(crate) fn require_repository(path: &Path) -> Result<Repo, WorktreeError> {
    let path = path.canonicalize().map_err(|_| WorktreeError::RepositoryMissing(path.to_path_buf()))?;
    Repo::discover(&path).map_err(|error| match error {
        GitError::NotARepository(path) => WorktreeError::NotARepository(path),
        other => other.into(),
    })
}

/// What git itself calls the repository: the first line of `git worktree list`.
pub(crate) fn repository_path(common_dir: &Path) -> PathBuf {
    match common_dir.parent() {
        Some(parent) if common_dir.ends_with(".git") => parent.to_path_buf(),
        _ => common_dir.to_path_buf(),
    }
}

/// The time, as exactly as the registry keeps it.
pub(crate) fn now() -> Timestamp {
    let now = clock::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
