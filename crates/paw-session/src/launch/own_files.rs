//! Keeping what a session writes into its repository out of git.

use paw_host::files::{self, Access, FileError, Lock};
use paw_host::git::Repo;

/// Our directory, except what people share on purpose.
const RULES: [&str; 3] = ["/.git-paw/*", "!/.git-paw/config.toml", "!/.git-paw/scripts/"];
const OURS: &str = "# git-paw: what a session writes";

/// Adds rules to what all worktrees share, unless `git paw init` has made better ones. Says whether it did.
pub(super) fn hide(repo: &Repo) -> Result<bool, FileError> {
    if repo.root.join(".git-paw/.gitignore").exists() {
        return Ok(false);
    }
    edit(repo, with_rules)
}

/// Takes the rules away again.
pub(super) fn show(repo: &Repo) -> Result<bool, FileError> {
    edit(repo, without_rules)
}

fn edit(repo: &Repo, change: impl FnOnce(&str) -> Option<String>) -> Result<bool, FileError> {
    let file = repo.common_dir.join("info/exclude");
    let _lock = Lock::wait(&repo.common_dir.join("paw/exclude.lock"))?;
    let changed = change(&files::load_text(&file)?.unwrap_or_default());
    if let Some(text) = &changed {
        files::write_atomic(&file, text.as_bytes(), Access::Usual)?;
    }
    Ok(changed.is_some())
}

fn with_rules(text: &str) -> Option<String> {
    if text.lines().any(|line| line.trim_end() == RULES[0]) {
        return None;
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{end}{}", block()))
}

fn without_rules(text: &str) -> Option<String> {
    text.contains(&block()).then(|| text.replace(&block(), ""))
}

fn block() -> String {
    format!("{OURS}\n{}\n", RULES.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_added_once_and_taken_out_whole() {
        let with = with_rules("*.log").unwrap();
        assert_eq!(
            with,
            "*.log\n# git-paw: what a session writes\n/.git-paw/*\n!/.git-paw/config.toml\n!/.git-paw/scripts/\n"
        );
        assert_eq!(with_rules(&with), None);
        assert_eq!(without_rules(&with).as_deref(), Some("*.log\n"));
        assert_eq!(without_rules("*.log\n"), None);
    }
}
