//! Advisory file locks between processes. The system releases a lock when its last holder exits or is killed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{FileError, create_dir};

/// Held until dropped. The file is never removed, because two processes could then hold the lock.
#[derive(Debug)]
pub struct Lock {
    file: Arc<File>,
    /// A program holds it, too, until it ends.
    is_shared: AtomicBool,
}

/// A held lock as the standard input of a program, which then holds it, too.
#[derive(Debug, Clone)]
pub(crate) struct LockInput(Arc<File>);

impl LockInput {
    pub(crate) fn to_stdio(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }
}

impl PartialEq for LockInput {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LockInput {}

impl Lock {
    /// Waits for the lock.
    pub fn wait(path: &Path) -> Result<Self, FileError> {
        let file = open(path)?;
        file.lock().map_err(FileError::when("lock", path))?;
        Ok(Self::of(file))
    }

    /// Whether another process holds the lock. Writes nothing, so it also works where the file cannot be changed.
    pub fn is_held(path: &Path) -> Result<bool, FileError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(FileError::when("open", path))?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(FileError::when("lock", path)(error)),
        }
    }

    /// Takes the lock; `None` if another process holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, FileError> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self::of(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FileError::when("lock", path)(error)),
        }
    }

    fn of(file: File) -> Self {
        Self { file: Arc::new(file), is_shared: AtomicBool::new(false) }
    }

    pub(crate) fn as_input(&self) -> LockInput {
        self.is_shared.store(true, Ordering::Relaxed);
        LockInput(Arc::clone(&self.file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A program that another thread starts just now has a copy of the descriptor for a moment, and the lock with it.
        if !self.is_shared.load(Ordering::Relaxed) {
            let _ = self.file.unlock();
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
        assert!(Lock::try_take(&path).unwrap().is_none() && Lock::is_held(&path).unwrap());
        drop(held);
        assert!(Lock::try_take(&path).unwrap().is_some() && !Lock::is_held(&path).unwrap());
        assert!(!Lock::is_held(&dir.path().join("none")).unwrap());
    }

    #[test]
    fn a_copy_of_the_descriptor_does_not_hold_a_dropped_lock_unless_a_program_was_given_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Lock::wait(&path).unwrap();
        let copy = held.file.try_clone().unwrap();
        drop(held);
        let held = Lock::try_take(&path).unwrap().expect("a program is being started meanwhile");
        drop(copy);
        let given = held.as_input().to_stdio().unwrap();
        drop(held);
        assert!(Lock::is_held(&path).unwrap(), "the program still runs");
        drop(given);
        assert!(!Lock::is_held(&path).unwrap());
    }
}
