//! Ensures one daemon per data directory: a lock, and a file that describes its holder.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::DataDir;
use paw_host::files::{self, Access, Lock};
use serde::{Deserialize, Serialize};

use crate::error::DaemonError;

/// Describes the running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DaemonInfo {
    pub(crate) pid: u32,
    pub(crate) socket: PathBuf,
    pub(crate) version: String,
    pub(crate) started_at: Timestamp,
}

/// Held while the daemon runs.
#[derive(Debug)]
pub(crate) struct InstanceLock {
    info: PathBuf,
    _lock: Lock,
}

impl InstanceLock {
    pub(crate) fn take(data_dir: &Path, info: &DaemonInfo) -> Result<Self, DaemonError> {
        let Some(lock) = Lock::try_take(&lock_file(data_dir))? else {
            let holder = find_info(data_dir);
            let (pid, socket) = (holder.as_ref().map(|info| info.pid), holder.map(|info| info.socket));
            return Err(DaemonError::AlreadyRunning { pid, socket });
        };
        let file = info_file(data_dir);
        let text = serde_json::to_string_pretty(info).unwrap_or_default();
        files::write_atomic(&file, text.as_bytes(), Access::Private)?;
        Ok(Self { info: file, _lock: lock })
    }
}

impl Drop for InstanceLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.info);
    }
}

/// Whether no daemon is running.
pub(crate) fn is_free(data_dir: &Path) -> Result<bool, DaemonError> {
    Ok(Lock::try_take(&lock_file(data_dir))?.is_some())
}

/// The description that the last daemon wrote. That daemon may no longer be running.
pub(crate) fn find_info(data_dir: &Path) -> Option<DaemonInfo> {
    let text = files::load_text(&info_file(data_dir)).ok()??;
    serde_json::from_str(&text).ok()
}

fn lock_file(data_dir: &Path) -> PathBuf {
    DataDir::of(data_dir).daemon_lock()
}

fn info_file(data_dir: &Path) -> PathBuf {
    DataDir::of(data_dir).daemon_note()
}
