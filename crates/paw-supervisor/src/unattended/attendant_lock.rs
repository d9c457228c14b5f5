//! The lock that a process holds while it takes the supervisor's place in a session.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::Receipt;
use paw_core::paths::PawDir;
use paw_host::files::{FileError, Lock};

/// Other processes take the lock only briefly, to see whether it is held.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// Held while this process supervises the session.
#[derive(Debug)]
pub struct AttendantLock {
    _lock: Lock,
}

impl AttendantLock {
    /// `None` if another process holds it.
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

/// Whether a process holds the lock.
pub fn is_held(common_dir: &Path) -> bool {
    let file = file(common_dir);
    file.exists() && Lock::try_take(&file).is_ok_and(|lock| lock.is_none())
}

/// Whether a session is supervised, by its supervisor, by that of the hub, or by a process in its place.
pub fn is_supervised(receipt: &Receipt, common_dir: &Path) -> bool {
    receipt.has_supervisor() || is_held(common_dir)
}

fn file(common_dir: &Path) -> PathBuf {
    PawDir::of(common_dir).unattended_lock()
}

#[cfg(test)]
mod tests {
    use paw_testkit::wait_until;

    use super::*;

    #[test]
    fn only_one_process_holds_the_attendant_lock() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_held(dir.path()));
        let lock = AttendantLock::take(dir.path()).unwrap().unwrap();
        assert!(is_held(dir.path()));
        assert!(AttendantLock::take(dir.path()).unwrap().is_none());
        drop(lock);
        // A child of another test holds the lock, too, between its fork and its exec.
        wait_until("the lock is free", || (!is_held(dir.path())).then_some(()));
        assert!(AttendantLock::take(dir.path()).unwrap().is_some());
    }
}
