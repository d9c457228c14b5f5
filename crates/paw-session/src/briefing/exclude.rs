//! Keeping briefings out of git: a marked rule in `info/exclude`, removed when no worktree needs it.

use paw_host::files::FileError;
use paw_host::locks::ExcludeLock;

/// Makes git ignore the file of this name at the top of every worktree.
pub(crate) fn hide(name: &str, lock: &ExcludeLock) -> Result<(), FileError> {
    lock.add(&block(name), &[&rule(name)]).map(drop)
}

/// Makes git see it again. A rule that was written by hand stays.
pub(crate) fn show(name: &str, lock: &ExcludeLock) -> Result<(), FileError> {
    lock.remove(&block(name)).map(drop)
}

fn rule(name: &str) -> String {
    format!("/{name}")
}

fn block(name: &str) -> String {
    format!("# git-paw: the briefing of an agent\n{}\n", rule(name))
}
