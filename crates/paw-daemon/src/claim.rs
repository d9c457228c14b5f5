//! One daemon per data directory: a lock that dies with its holder, and a note that says who that is.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::DataDir;
use paw_host::files::{self, Access, Lock};
use serde::{Deserialize, Serialize};

use crate::error::DaemonError;

/// Who holds the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) pid: u32,
    pub(crate) socket: PathBuf,
    pub(crate) version: String,
    pub(crate) started_at: Timestamp,
}

/// Held as long as the daemon lives.
#[derive(Debug)]
pub(crate) struct Claim {
    note: PathBuf,
    _lock: Lock,
}

impl Claim {
    pub(crate) fn take(data_dir: &Path, note: &Note) -> Result<Self, DaemonError> {
        let Some(lock) = Lock::try_take(&lock_file(data_dir))? else {
            let holder = find_note(data_dir);
            let (pid, socket) = (holder.as_ref().map(|note| note.pid), holder.map(|note| note.socket));
            return Err(DaemonError::AlreadyRunning { pid, socket });
        };
        let file = note_file(data_dir);
        let text = serde_json::to_string_pretty(note).unwrap_or_default();
        files::write_atomic(&file, text.as_bytes(), Access::Private)?;
        Ok(Self { note: file, _lock: lock })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.note);
    }
}

/// Whether nobody holds the claim.
pub(crate) fn is_free(data_dir: &Path) -> Result<bool, DaemonError> {
    Ok(Lock::try_take(&lock_file(data_dir))?.is_some())
}

/// What the last daemon wrote down. It may be dead.
pub(crate) fn find_note(data_dir: &Path) -> Option<Note> {
    let text = files::load_text(&note_file(data_dir)).ok()??;
    serde_json::from_str(&text).ok()
}

fn lock_file(data_dir: &Path) -> PathBuf {
    DataDir::of(data_dir).daemon_lock()
}

fn note_file(data_dir: &Path) -> PathBuf {
    DataDir::of(data_dir).daemon_note()
}
