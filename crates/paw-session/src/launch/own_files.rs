//! Keeping what a session writes into its repository out of git.

use paw_core::paths::CheckoutDir;
use paw_host::files::FileError;
use paw_host::git::Repo;
use paw_host::locks::ExcludeLock;

/// Adds rules to what all worktrees share, unless `git paw init` has made better ones. Returns whether it did.
pub(super) fn hide(repo: &Repo, lock: &ExcludeLock) -> Result<bool, FileError> {
    if CheckoutDir::of(&repo.root).ignore_file().exists() {
        return Ok(false);
    }
    lock.add(&block(), &[&everything()])
}

/// Removes the rules again.
pub(super) fn show(lock: &ExcludeLock) -> Result<(), FileError> {
    lock.remove(&block()).map(drop)
}

fn everything() -> String {
    format!("/{}/*", CheckoutDir::NAME)
}

/// Our directory, except what people share on purpose.
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
