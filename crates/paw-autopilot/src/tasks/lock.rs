//! The lock for writing `tasks.json`: `tasks.json.lock` next to it.
//!
//! Some programs create a directory, some a file; both count. A lock older than ten seconds is left over from a
//! crash.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use paw_core::paths::tasks_lock;
use paw_host::clock::{self, Stopwatch};
use paw_host::files::{self, FileError};

use super::TaskError;

const STALE: Duration = Duration::from_secs(10);
/// Longer than a live process holds the lock, and long enough to detect a stale one.
const MAX_WAIT: Duration = Duration::from_secs(12);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A held lock, released on drop.
#[derive(Debug)]
pub(super) struct TaskLock {
    path: PathBuf,
    ours: FileIdentity,
}

/// Identifies the directory independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl TaskLock {
    /// Waits for the lock of `file`.
    pub(super) fn take(file: &Path) -> Result<Self, TaskError> {
        let path = tasks_lock(file);
        if let Some(dir) = file.parent() {
            files::create_dir(dir)?;
        }
        let watch = Stopwatch::start();
        loop {
            match fs::create_dir(&path) {
                Ok(()) => {
                    let made = fs::metadata(&path).map_err(FileError::when("lock", &path))?;
                    return Ok(Self { ours: identity(&made), path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(FileError::when("lock", &path)(source).into()),
            }
            if !remove_stale(&path)? {
                if watch.elapsed() > MAX_WAIT {
                    return Err(TaskError::Locked(path));
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    /// Refreshes the lock before the write. Fails if another program took it over.
    pub(super) fn confirm(&self) -> Result<(), TaskError> {
        let now = fs::symlink_metadata(&self.path).ok().map(|metadata| identity(&metadata));
        if now != Some(self.ours) {
            return Err(TaskError::LockLost(self.path.clone()));
        }
        let touched = File::open(&self.path).and_then(|dir| dir.set_modified(SystemTime::from(clock::now())));
        Ok(touched.map_err(FileError::when("lock", &self.path))?)
    }
}

impl Drop for TaskLock {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|metadata| identity(&metadata) == self.ours) {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn identity(metadata: &Metadata) -> FileIdentity {
    FileIdentity(metadata.dev(), metadata.ino())
}

/// Removes a stale lock. Returns whether to retry at once.
fn remove_stale(path: &Path) -> Result<bool, TaskError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(true) };
    let age = found.modified().ok().and_then(|then| SystemTime::from(clock::now()).duration_since(then).ok());
    if age.is_none_or(|age| age <= STALE) {
        return Ok(false);
    }
    // Only one rename succeeds. If it caught a fresh lock, put that one back.
    let aside = PathBuf::from(format!(
        "{}.stale.{}.{}",
        path.display(),
        std::process::id(),
        clock::now().as_millisecond()
    ));
    if fs::rename(path, &aside).is_err() {
        return Ok(true);
    }
    let caught = fs::symlink_metadata(&aside).map_err(FileError::when("remove", &aside))?;
    if identity(&caught) != identity(&found) {
        let _ = fs::rename(&aside, path);
        return Ok(false);
    }
    let removed = if caught.is_dir() { fs::remove_dir_all(&aside) } else { fs::remove_file(&aside) };
    removed.map_err(FileError::when("remove", &aside))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};

    use super::*;

    fn age(path: &Path, by: Duration) {
        let then = SystemTime::from(clock::now()) - by;
        File::open(path).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn lock_waits_for_its_holder_and_is_removed_on_drop() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/tasks.json");
        let held = TaskLock::take(&file).unwrap();
        held.confirm().unwrap();
        let waiting = thread::spawn({
            let file = file.clone();
            move || TaskLock::take(&file).map(drop)
        });
        assert!(dir.path().join("deep/tasks.json.lock").is_dir() && !waiting.is_finished());
        drop(held);
        waiting.join().unwrap().unwrap();
        assert_eq!(fs::read_dir(dir.path().join("deep")).unwrap().count(), 0);
    }

    #[test]
    fn stale_lock_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tasks.json");
        let lock = dir.path().join("tasks.json.lock");
        write_atomic(&lock, b"{\"pid\":1}", Access::Usual).unwrap();
        age(&lock, STALE * 2);
        drop(TaskLock::take(&file).unwrap());
        fs::create_dir(&lock).unwrap();
        age(&lock, STALE * 2);
        drop(TaskLock::take(&file).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn lost_lock_is_detected_and_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("tasks.json.lock");
        let held = TaskLock::take(&dir.path().join("tasks.json")).unwrap();
        fs::rename(&lock, dir.path().join("aside")).unwrap();
        fs::create_dir(&lock).unwrap();
        assert!(matches!(held.confirm(), Err(TaskError::LockLost(_))));
        drop(held);
        assert!(lock.exists());
    }
}
