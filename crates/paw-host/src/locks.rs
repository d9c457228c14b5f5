//! Locks as values: a function that must not run twice at a time takes the guard, so it cannot be called without.
//!
//! A guard is released when it is dropped or its process ends. Taking the same lock twice in one process waits forever.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_core::paths::{PawDir, SessionsDir};

use crate::files::{self, Access, FileError, Lock};

/// Held while git registers, moves or forgets worktrees of a repository, which it cannot do twice at a time.
#[derive(Debug)]
pub struct WorktreesLock(#[expect(dead_code, reason = "dropping it is what unlocks")] Lock);

impl WorktreesLock {
    pub fn wait(common_dir: &Path) -> Result<Self, FileError> {
        Ok(Self(Lock::wait(&PawDir::of(common_dir).worktrees_lock())?))
    }
}

/// Held by the command that starts, changes or ends the session of a repository.
#[derive(Debug)]
pub struct SessionLock(#[expect(dead_code, reason = "dropping it is what unlocks")] Lock);

impl SessionLock {
    /// Nothing when another command has it.
    pub fn try_take(common_dir: &Path) -> Result<Option<Self>, FileError> {
        Ok(Lock::try_take(&PawDir::of(common_dir).session_lock())?.map(Self))
    }
}

/// Held while a receipt is written or deleted.
#[derive(Debug)]
pub struct ReceiptsLock(#[expect(dead_code, reason = "dropping it is what unlocks")] Lock);

impl ReceiptsLock {
    pub fn wait(sessions: &SessionsDir) -> Result<Self, FileError> {
        Ok(Self(Lock::wait(&sessions.lock())?))
    }
}

/// Held while `info/exclude` is edited. git reads that file from the common directory only, so its rules apply to the
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

    /// Adds a block of lines, unless one of the lines in `known` is there. Returns whether the file has changed.
    pub fn add(&self, block: &str, known: &[&str]) -> Result<bool, FileError> {
        self.edit(|rules| with_block(rules, block, known))
    }

    /// Removes a block that was added. Rules that were written by hand stay.
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
    fn a_block_is_added_once_and_removed_whole() {
        let rules = with(b"*.log\n").unwrap();
        assert_eq!(rules, b"*.log\n# ours\n/AGENTS.md\n");
        assert_eq!(with(&rules), None);
        let two = [&rules[..], b"other\n"].concat();
        assert_eq!(without_block(&two, BLOCK).unwrap(), b"*.log\nother\n");
        assert_eq!(without_block(b"*.log\n", BLOCK), None);
    }

    #[test]
    fn a_rule_that_was_written_by_hand_is_not_added_or_removed() {
        assert_eq!((with(b"/AGENTS.md\r\n"), with(b"/all/ \n")), (None, None));
        assert_eq!(without_block(b"/AGENTS.md\n", BLOCK), None);
    }

    #[test]
    fn odd_bytes_and_a_last_line_without_an_end_survive() {
        let rules = with(b"\xff*.log").unwrap();
        assert_eq!(rules, [b"\xff*.log\n", BLOCK.as_bytes()].concat());
        assert_eq!(without_block(&rules, BLOCK).unwrap(), b"\xff*.log\n");
    }

    #[test]
    fn exclude_rules_are_written_while_the_lock_is_held() {
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
