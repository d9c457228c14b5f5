//! Advisory file locks between processes. The system releases a lock when its holder exits or is killed.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::{FileError, create_dir};

/// Held until dropped. The file is never removed, because two processes could then hold the lock.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "dropping the file releases the lock")] File);

impl Lock {
    /// Waits for the lock.
    pub fn wait(path: &Path) -> Result<Self, FileError> {
        let file = open(path)?;
        file.lock().map_err(FileError::when("lock", path))?;
        Ok(Self(file))
    }

    /// Takes the lock; `None` if another process holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, FileError> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FileError::when("lock", path)(error)),
        }
    }
}

fn open(path: &Path) -> Result<File, FileError> {
    if let Some(dir) = path.parent() {
        create_dir(dir)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(FileError::when("open", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/lock");
        let held = Lock::wait(&path).unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        drop(held);
        assert!(Lock::try_take(&path).unwrap().is_some());
    }
}
