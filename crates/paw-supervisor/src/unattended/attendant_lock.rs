//! The lock that a process holds while it stands in for a session's supervisor.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::paths::PawDir;
use paw_core::{Receipt, SessionMode};
use paw_host::files::{FileError, Lock};

/// Others only look whether the lock is held, and let go of it at once.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// This process attends to the session until this is dropped.
#[derive(Debug)]
pub struct AttendantLock {
    _lock: Lock,
}

impl AttendantLock {
    /// Nothing if another process holds it already.
    pub fn take(common_dir: &Path) -> Result<Option<Self>, FileError> {
        for _ in 0..TRIES {
            if let Some(lock) = Lock::try_take(&file(common_dir))? {
                return Ok(Some(Self { _lock: lock }));
            }
            thread::sleep(BETWEEN_TRIES);
        }
        Ok(None)
    }
}

/// Whether a process holds it now.
pub fn is_held(common_dir: &Path) -> bool {
    let file = file(common_dir);
    file.exists() && Lock::try_take(&file).is_ok_and(|lock| lock.is_none())
}

/// Whether a session is supervised: by a supervisor of its own, or by a process in its place.
pub fn is_supervised(receipt: &Receipt, common_dir: &Path) -> bool {
    receipt.mode == SessionMode::Supervisor || is_held(common_dir)
}

fn file(common_dir: &Path) -> PathBuf {
    PawDir::of(common_dir).unattended_lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_process_attends_to_a_session_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_held(dir.path()));
        let lock = AttendantLock::take(dir.path()).unwrap().unwrap();
        assert!(is_held(dir.path()));
        assert!(AttendantLock::take(dir.path()).unwrap().is_none());
        drop(lock);
        assert!(!is_held(dir.path()));
        assert!(AttendantLock::take(dir.path()).unwrap().is_some());
    }
}
