//! Rules in `info/exclude` that keep a session's files out of git.

use paw_core::paths::CheckoutDir;
use paw_host::files::FileError;
use paw_host::git::Repo;
use paw_host::locks::ExcludeLock;

/// Adds the rules, which all worktrees share, unless `git paw init` has written `.git-paw/.gitignore`. Returns whether it
/// changed the file.
pub(super) fn add(repo: &Repo, lock: &ExcludeLock) -> Result<bool, FileError> {
    if CheckoutDir::of(&repo.root).ignore_file().exists() {
        return Ok(false);
    }
    lock.add(&block(), &[&everything()])
}

/// Removes the rules.
pub(super) fn remove(lock: &ExcludeLock) -> Result<(), FileError> {
    lock.remove(&block()).map(drop)
}

fn everything() -> String {
    format!("/{}/*", CheckoutDir::NAME)
}

/// Ignores `.git-paw` except for the files that projects commit.
fn block() -> String {
    let (config, scripts) = (CheckoutDir::CONFIG, CheckoutDir::SCRIPTS);
    format!("# git-paw: what a session writes\n{}\n!/{config}\n!/{scripts}/\n", everything())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclude_rules_hide_our_directory_except_configuration_and_scripts() {
        assert_eq!(
            block(),
            "# git-paw: what a session writes\n/.git-paw/*\n!/.git-paw/config.toml\n!/.git-paw/scripts/\n"
        );
    }
}
