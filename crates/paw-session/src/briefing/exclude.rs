//! Keeps briefings out of git with a marked rule in `info/exclude`.

use paw_host::files::FileError;
use paw_host::locks::ExcludeLock;

/// Makes git ignore the file of this name at the top of every worktree.
pub(crate) fn add_rule(name: &str, lock: &ExcludeLock) -> Result<(), FileError> {
    lock.add(&block(name), &[&rule(name)]).map(drop)
}

/// Removes our rule. A rule written by the user stays.
pub(crate) fn remove_rule(name: &str, lock: &ExcludeLock) -> Result<(), FileError> {
    lock.remove(&block(name)).map(drop)
}

fn rule(name: &str) -> String {
    format!("/{name}")
}

fn block(name: &str) -> String {
    format!("# git-paw: the briefing of an agent\n{}\n", rule(name))
}
