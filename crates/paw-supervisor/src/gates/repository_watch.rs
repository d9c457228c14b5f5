//! Notices that the repository changed while gates ran.
//!
//! Gates run in a copy of the repository, but without a sandbox their code can find the original. Agents and the user work
//! in it at the same time: their branches, fetches and commits are not the gates' doing. So changes are judged by what
//! they are: see [`RepositoryChanges`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_core::paths::PawDir;
use paw_core::text::short_commit;
use paw_host::git::{Git, GitError, Repo};

/// The reflog of a branch says this if `git paw merge` moved it.
pub(crate) const MERGE_REFLOG: &str = "git paw merge";
/// Settings that agents, editors and git paw itself change all the time. None of them names a program.
const EVERYDAY: [&str; 2] = ["branch.", "gui."];
/// Files of the git directory that decide what git does.
const FILES: [&str; 8] = [
    "HEAD",
    "config",
    "config.worktree",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
];

/// What changed while gates ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RepositoryChanges {
    /// What only code that ran as a gate would do: it fails the run.
    pub(crate) tampered: Vec<String>,
    /// What the user may have done as well: the run is repeated.
    pub(crate) unclear: Vec<String>,
}

/// The state of a repository before a run.
#[derive(Debug)]
pub(crate) struct RepositoryWatch {
    repo: Repo,
    main: Option<BranchName>,
    state: RepositoryState,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct RepositoryState {
    /// The main branch, tags and replacements, with their objects.
    refs: BTreeMap<String, String>,
    /// Content and mode, or none for a missing file.
    files: BTreeMap<PathBuf, (Vec<u8>, u32)>,
}

impl RepositoryWatch {
    pub(crate) fn start(repo: &Repo) -> Result<Self, GitError> {
        let main = repo.git().find_default_branch()?;
        let state = RepositoryState::load(repo, main.as_ref())?;
        Ok(Self { repo: repo.clone(), main, state })
    }

    /// What changed since the start. `tip` is the commit whose gates ran.
    pub(crate) fn find_changes(&self, tip: &str) -> Result<RepositoryChanges, GitError> {
        let now = RepositoryState::load(&self.repo, self.main.as_ref())?;
        let mut changes = RepositoryChanges::default();
        if now == self.state {
            return Ok(changes);
        }
        self.compare_files(&now, &mut changes)?;
        self.compare_refs(&now, tip, &mut changes)?;
        Ok(changes)
    }

    fn compare_files(&self, now: &RepositoryState, changes: &mut RepositoryChanges) -> Result<(), GitError> {
        let paths: BTreeSet<&PathBuf> = self.state.files.keys().chain(now.files.keys()).collect();
        for path in paths {
            let (before, after) = (self.state.files.get(path), now.files.get(path));
            let text = |state: Option<&(Vec<u8>, u32)>| state.map_or(Vec::new(), |state| state.0.clone());
            if before == after {
                continue;
            }
            match path.to_str().unwrap_or_default() {
                "HEAD" => changes.unclear.push("the main checkout switched to another branch".to_owned()),
                "config" | "config.worktree" => {
                    for key in self.changed_settings(&text(before), &text(after))? {
                        changes.tampered.push(format!("the git setting {key} was changed"));
                    }
                }
                // git paw adds and removes rules for its own files.
                "info/exclude" if is_same_but_ours(&text(before), &text(after)) => {}
                // Starting and ending a session installs and removes them.
                _ if path.starts_with(our_hooks(&self.repo.common_dir))
                    && (before.is_none() || after.is_none()) =>
                {
                    let name = path.display();
                    changes.unclear.push(format!("{name} in the git directory was created or deleted"));
                }
                name => {
                    let what = match (before, after) {
                        (None, _) => "created",
                        (_, None) => "deleted",
                        _ => "changed",
                    };
                    changes.tampered.push(format!("{name} in the git directory was {what}"));
                }
            }
        }
        Ok(())
    }

    /// The settings that differ, except everyday ones.
    fn changed_settings(&self, before: &[u8], after: &[u8]) -> Result<BTreeSet<String>, GitError> {
        let git = self.repo.git();
        let list = |bytes: &[u8]| -> Result<BTreeSet<(String, String)>, GitError> {
            let listing = git.parse_config(bytes)?;
            Ok(listing.into_iter().filter(|(key, value)| !self.is_everyday(key, value)).collect())
        };
        let (before, after) = (list(before)?, list(after)?);
        Ok(before.symmetric_difference(&after).map(|(key, _)| key.clone()).collect())
    }

    fn is_everyday(&self, key: &str, value: &str) -> bool {
        let our_hooks = PawDir::of(&self.repo.common_dir).hooks_config();
        EVERYDAY.iter().any(|prefix| key.starts_with(prefix))
            || (key.starts_with("submodule.") && matches!(key.rsplit('.').next(), Some("url" | "active")))
            || (key.starts_with("includeif.") && Path::new(value) == our_hooks)
            || key == "extensions.worktreeconfig"
    }

    fn compare_refs(
        &self,
        now: &RepositoryState,
        tip: &str,
        changes: &mut RepositoryChanges,
    ) -> Result<(), GitError> {
        let main = self.main.as_ref().map(BranchName::full_ref);
        let names: BTreeSet<&String> = self.state.refs.keys().chain(now.refs.keys()).collect();
        for name in names {
            let (before, after) = (self.state.refs.get(name), now.refs.get(name));
            if before == after {
                continue;
            }
            if Some(name) == main.as_ref() {
                self.compare_main((before, after), tip, changes)?;
            } else if name.starts_with("refs/replace/") {
                changes.tampered.push(format!("{name} was changed"));
            } else if before.is_none() {
                changes.unclear.push(format!("the tag {name} was created"));
            } else {
                let what = if after.is_some() { "moved" } else { "deleted" };
                changes.tampered.push(format!("the tag {name} was {what}"));
            }
        }
        Ok(())
    }

    fn compare_main(
        &self,
        (before, after): (Option<&String>, Option<&String>),
        tip: &str,
        changes: &mut RepositoryChanges,
    ) -> Result<(), GitError> {
        let main = self.main.as_ref().map_or("main", BranchName::as_str);
        let (Some(before), Some(after)) = (before, after) else {
            changes.tampered.push(format!("{main} was created or deleted"));
            return Ok(());
        };
        let moved = format!("{main} moved from {} to {}", short_commit(before), short_commit(after));
        let git = self.repo.git();
        let has_tip = |commit: &str| git.is_ancestor(tip, commit);
        match self.last_logged_move() {
            Some((_, why)) if why.starts_with(MERGE_REFLOG) => {}
            Some((to, _)) if to != *after => {
                changes.tampered.push(format!("{moved}, and git has no record of it"));
            }
            _ if has_tip(after)? && !has_tip(before)? => {
                changes.tampered.push(format!("{moved}, which contains the tested commit"));
            }
            _ => changes.unclear.push(moved),
        }
        Ok(())
    }

    /// The last entry of the main branch's reflog, if git keeps one: where it moved, and why.
    fn last_logged_move(&self) -> Option<(String, String)> {
        let log = self.repo.common_dir.join("logs").join(self.main.as_ref()?.full_ref());
        let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
        let (entry, why) = text.lines().next_back()?.split_once('\t')?;
        Some((entry.split(' ').nth(1)?.to_owned(), why.to_owned()))
    }
}

impl RepositoryState {
    fn load(repo: &Repo, main: Option<&BranchName>) -> Result<Self, GitError> {
        let mut state = Self { refs: load_refs(&repo.git(), main)?, files: BTreeMap::new() };
        for name in FILES {
            state.add(&repo.common_dir, Path::new(name));
        }
        state.add_dir(&repo.common_dir, Path::new("hooks"));
        state.add_dir(&repo.common_dir, &our_hooks(&repo.common_dir));
        Ok(state)
    }

    fn add_dir(&mut self, root: &Path, dir: &Path) {
        let entries = fs::read_dir(root.join(dir)).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let path = dir.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add_dir(root, &path);
            } else if path.extension().is_none_or(|extension| extension != "sample") {
                self.add(root, &path);
            }
        }
    }

    fn add(&mut self, root: &Path, path: &Path) {
        let full = root.join(path);
        if let (Ok(bytes), Ok(found)) = (fs::read(&full), fs::metadata(&full)) {
            self.files.insert(path.to_path_buf(), (bytes, found.permissions().mode()));
        }
    }
}

/// The directory of git paw's own hooks, below the git directory.
fn our_hooks(common_dir: &Path) -> PathBuf {
    let config = PawDir::of(common_dir).hooks_config();
    let dir = config.parent().unwrap_or(common_dir);
    dir.strip_prefix(common_dir).unwrap_or(dir).to_path_buf()
}

fn load_refs(git: &Git, main: Option<&BranchName>) -> Result<BTreeMap<String, String>, GitError> {
    let main = main.map(BranchName::full_ref);
    let args = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags", "refs/replace"];
    let listing = git.plumb(None, args.into_iter().chain(main.as_deref()))?;
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let entry = |line: &str| line.split_once(' ').map(|(oid, name)| (name.to_owned(), oid.to_owned()));
    Ok(listing.lines().filter_map(entry).collect())
}

/// Whether two versions of `info/exclude` differ only in rules that git paw writes: a comment and anchored patterns.
fn is_same_but_ours(before: &[u8], after: &[u8]) -> bool {
    fn of_user(rules: &[u8]) -> Vec<&[u8]> {
        let mut is_ours = false;
        let mut kept = Vec::new();
        for line in rules.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            is_ours = line.starts_with(b"# git-paw")
                || (is_ours && (line.starts_with(b"/") || line.starts_with(b"!/")));
            if !is_ours {
                kept.push(line);
            }
        }
        kept
    }
    of_user(before) == of_user(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclude_rules_of_git_paw_are_told_from_other_rules() {
        let ours = b"*.log\n# git-paw: what a session writes\n/.git-paw/*\n!/.git-paw/config.toml\n";
        assert!(is_same_but_ours(b"*.log\n", ours));
        assert!(!is_same_but_ours(b"*.log\n", b"*.log\nconftest.py\n"));
        assert!(!is_same_but_ours(ours, &[&ours[..], b"*.py\n"].concat()));
    }
}
