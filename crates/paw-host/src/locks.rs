//! Lock guards. A function that must not run concurrently takes a guard as an argument.
//!
//! A guard is released when it is dropped or its process exits. Taking the same lock twice in one process deadlocks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::paths::{PawDir, SessionsDir};

use crate::clock::Stopwatch;
use crate::files::{self, Access, FileError, Lock};

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Held while git registers, moves or unregisters worktrees of a repository, which git cannot do concurrently.
#[derive(Debug)]
pub struct WorktreesLock(Lock);

impl WorktreesLock {
    pub fn wait(common_dir: &Path) -> Result<Self, FileError> {
        Ok(Self(Lock::wait(&PawDir::of(common_dir).worktrees_lock())?))
    }

    /// Waits until no process changes worktrees: a git may outlive the process that started it.
    pub fn wait_until_free(common_dir: &Path) -> Result<(), FileError> {
        Self::wait(common_dir).map(drop)
    }

    pub(crate) fn lock(&self) -> &Lock {
        &self.0
    }
}

/// Held by the command that starts, changes or ends the session of a repository.
#[derive(Debug)]
pub struct SessionLock(#[expect(dead_code, reason = "dropping it releases the lock")] Lock);

impl SessionLock {
    /// `None` if another command holds the lock.
    pub fn try_take(common_dir: &Path) -> Result<Option<Self>, FileError> {
        Ok(Lock::try_take(&PawDir::of(common_dir).session_lock())?.map(Self))
    }

    /// Waits for another command that holds the lock, at most `limit`. A command that was killed holds it until the system has
    /// removed the process. Calls `on_wait` once, if the wait takes longer than `patience`.
    pub fn wait(
        common_dir: &Path,
        limit: Duration,
        patience: Duration,
        on_wait: impl FnOnce(),
    ) -> Result<Option<Self>, FileError> {
        let watch = Stopwatch::start();
        let mut on_wait = Some(on_wait);
        loop {
            if let Some(lock) = Self::try_take(common_dir)? {
                return Ok(Some(lock));
            }
            if watch.remaining(limit).is_zero() {
                return Ok(None);
            }
            if watch.remaining(patience).is_zero()
                && let Some(on_wait) = on_wait.take()
            {
                on_wait();
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Held while a receipt is written or deleted.
#[derive(Debug)]
pub struct ReceiptsLock(#[expect(dead_code, reason = "dropping it releases the lock")] Lock);

impl ReceiptsLock {
    pub fn wait(sessions: &SessionsDir) -> Result<Self, FileError> {
        Ok(Self(Lock::wait(&sessions.lock())?))
    }
}

/// Held while `info/exclude` is edited. git reads that file only from the common directory, so its rules apply to the
/// main checkout and to every worktree.
#[derive(Debug)]
pub struct ExcludeLock {
    file: PathBuf,
    _lock: Lock,
}

impl ExcludeLock {
    pub fn wait(common_dir: &Path) -> Result<Self, FileError> {
        let lock = Lock::wait(&PawDir::of(common_dir).exclude_lock())?;
        Ok(Self { file: common_dir.join("info/exclude"), _lock: lock })
    }

    /// Adds a block of lines, unless the file contains one of the `known` lines. Returns whether the file changed.
    pub fn add(&self, block: &str, known: &[&str]) -> Result<bool, FileError> {
        self.edit(|rules| with_block(rules, block, known))
    }

    /// Removes a block that [`Self::add`] added. Keeps rules that the user wrote. Returns whether the file changed.
    pub fn remove(&self, block: &str) -> Result<bool, FileError> {
        self.edit(|rules| without_block(rules, block))
    }

    fn edit(&self, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Result<bool, FileError> {
        let rules = match fs::read(&self.file) {
            Ok(rules) => rules,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(FileError::when("read", &self.file)(error)),
        };
        let Some(rules) = change(&rules) else { return Ok(false) };
        files::write_atomic(&self.file, &rules, Access::Usual)?;
        Ok(true)
    }
}

fn with_block(rules: &[u8], block: &str, known: &[&str]) -> Option<Vec<u8>> {
    let mut lines = rules.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    if lines.any(|line| known.iter().any(|known| line == known.as_bytes())) {
        return None;
    }
    let end: &[u8] = if rules.is_empty() || rules.ends_with(b"\n") { b"" } else { b"\n" };
    Some([rules, end, block.as_bytes()].concat())
}

fn without_block(rules: &[u8], block: &str) -> Option<Vec<u8>> {
    let at = rules.windows(block.len()).position(|window| window == block.as_bytes())?;
    Some([&rules[..at], &rules[at + block.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "# ours\n/AGENTS.md\n";

    fn with(rules: &[u8]) -> Option<Vec<u8>> {
        with_block(rules, BLOCK, &["/AGENTS.md", "/all/"])
    }

    #[test]
    fn an_exclude_block_is_added_once_and_removed_completely() {
        let rules = with(b"*.log\n").unwrap();
        assert_eq!(rules, b"*.log\n# ours\n/AGENTS.md\n");
        assert_eq!(with(&rules), None);
        let two = [&rules[..], b"other\n"].concat();
        assert_eq!(without_block(&two, BLOCK).unwrap(), b"*.log\nother\n");
        assert_eq!(without_block(b"*.log\n", BLOCK), None);
    }

    #[test]
    fn an_exclude_rule_of_the_user_is_neither_duplicated_nor_removed() {
        assert_eq!((with(b"/AGENTS.md\r\n"), with(b"/all/ \n")), (None, None));
        assert_eq!(without_block(b"/AGENTS.md\n", BLOCK), None);
    }

    #[test]
    fn excludes_keep_invalid_utf8_and_a_missing_final_newline() {
        let rules = with(b"\xff*.log").unwrap();
        assert_eq!(rules, [b"\xff*.log\n", BLOCK.as_bytes()].concat());
        assert_eq!(without_block(&rules, BLOCK).unwrap(), b"\xff*.log\n");
    }

    #[test]
    fn the_session_lock_is_waited_for_with_one_note_and_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let notes = std::cell::Cell::new(0);
        let note = || notes.set(notes.get() + 1);
        let limit = Duration::from_mins(1);
        let held = SessionLock::wait(dir.path(), limit, Duration::ZERO, note).unwrap();
        assert!(held.is_some() && notes.get() == 0, "a free lock is taken at once");
        let short = Duration::from_millis(50);
        assert!(SessionLock::wait(dir.path(), short, Duration::ZERO, note).unwrap().is_none());
        assert_eq!(notes.get(), 1);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(short);
                drop(held);
            });
            assert!(SessionLock::wait(dir.path(), limit, limit, note).unwrap().is_some());
        });
        assert_eq!(notes.get(), 1, "a short wait needs no note");
    }

    #[test]
    fn the_exclude_lock_is_held_during_an_edit() {
        let dir = tempfile::tempdir().unwrap();
        let lock = ExcludeLock::wait(dir.path()).unwrap();
        let file = PawDir::of(dir.path()).exclude_lock();
        assert!(Lock::try_take(&file).unwrap().is_none());
        assert!(lock.add(BLOCK, &[]).unwrap());
        assert_eq!(fs::read_to_string(dir.path().join("info/exclude")).unwrap(), BLOCK);
        drop(lock);
        assert!(Lock::try_take(&file).unwrap().is_some());
    }
}
