//! Who stands in for a supervisor: a process that holds a lock, for as long as it lives.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::paths::PawDir;
use paw_core::{Receipt, SessionMode};
use paw_host::files::{FileError, Lock};

/// Others only look whether the lock is held, and let go of it at once.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// Somebody is in charge of the session until this is dropped.
#[derive(Debug)]
pub struct Charge {
    _lock: Lock,
}

impl Charge {
    /// Nothing if another process is in charge already.
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

/// Whether a process is in charge now.
pub fn is_taken(common_dir: &Path) -> bool {
    let file = file(common_dir);
    file.exists() && Lock::try_take(&file).is_ok_and(|lock| lock.is_none())
}

/// Whether somebody looks after the agents of a session: a supervisor of its own, or a process in its place.
pub fn is_supervised(receipt: &Receipt, common_dir: &Path) -> bool {
    receipt.mode == SessionMode::Supervisor || is_taken(common_dir)
}

fn file(common_dir: &Path) -> PathBuf {
    PawDir::of(common_dir).unattended_lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_in_charge_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_taken(dir.path()));
        let charge = Charge::take(dir.path()).unwrap().unwrap();
        assert!(is_taken(dir.path()));
        assert!(Charge::take(dir.path()).unwrap().is_none());
        drop(charge);
        assert!(!is_taken(dir.path()));
        assert!(Charge::take(dir.path()).unwrap().is_some());
    }
}
