//! [`Worktrees`], the entry point for commands and the daemon. Cheap to clone; safe to use from several threads and
//! processes.

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
    /// Opens the registry in the data directory, and recovers operations that a dead process left unfinished.
    pub fn open(data_dir: &Path) -> Result<Self, WorktreeError> {
        let data = DataDir::of(data_dir);
        let registry = Registry::open(&data.registry())?;
        let worktrees = Self { registry, data, free_bytes: Arc::new(free_bytes) };
        worktrees.recover()?;
        Ok(worktrees)
    }

    /// The registry of worktrees and conversations.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Replaces the disk space probe, for tests of a full disk.
    #[doc(hidden)]
    #[must_use]
    pub fn with_free_bytes(self, probe: impl Fn(&Path) -> io::Result<u64> + Send + Sync + 'static) -> Self {
        Self { free_bytes: Arc::new(probe), ..self }
    }

    /// Free space on the file system of `path`. A file system that does not report it counts as having enough.
    pub(crate) fn free_bytes(&self, path: &Path) -> u64 {
        (self.free_bytes)(path).unwrap_or(u64::MAX)
    }

    /// Locks a row for an operation. Returns nothing if another process holds the lock.
    pub(crate) fn try_begin(&self, id: &WorktreeId) -> Result<Option<OperationGuard>, WorktreeError> {
        let file = self.data.operation_lock(id);
        Ok(Lock::try_take(&file)?.map(|lock| OperationGuard { file, _lock: lock }))
    }
}

#[cfg(not(debug_assertions))]
fn free_bytes(path: &Path) -> io::Result<u64> {
    disk::free_bytes(path)
}

/// In debug builds, `GIT_PAW_TEST_FREE_BYTES` overrides the free space, so that tests can simulate a full disk.
#[cfg(debug_assertions)]
fn free_bytes(path: &Path) -> io::Result<u64> {
    let simulated = std::env::var("GIT_PAW_TEST_FREE_BYTES").ok().and_then(|bytes| bytes.parse().ok());
    simulated.map_or_else(|| disk::free_bytes(path), Ok)
}

/// Holds the lock of a row while an operation runs. The lock is released when this process ends, even by a crash.
#[derive(Debug)]
pub(crate) struct OperationGuard {
    file: PathBuf,
    _lock: Lock,
}

impl Drop for OperationGuard {
    fn drop(&mut self) {
        // Safe: a process that recreates the lock file reads the row before it acts.
        let _ = fs::remove_file(&self.file);
    }
}

/// The repository that `path` is in.
pub(crate) fn require_repository(path: &Path) -> Result<Repo, WorktreeError> {
    let path = path.canonicalize().map_err(|_| WorktreeError::RepositoryMissing(path.to_path_buf()))?;
    Repo::discover(&path).map_err(|error| match error {
        GitError::NotARepository(path) => WorktreeError::NotARepository(path),
        other => other.into(),
    })
}

/// The path by which git lists the repository: the first entry of `git worktree list`.
pub(crate) fn repository_path(common_dir: &Path) -> PathBuf {
    match common_dir.parent() {
        Some(parent) if common_dir.ends_with(".git") => parent.to_path_buf(),
        _ => common_dir.to_path_buf(),
    }
}

/// The current time, truncated to the registry's precision of milliseconds.
pub(crate) fn now() -> Timestamp {
    let now = clock::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
