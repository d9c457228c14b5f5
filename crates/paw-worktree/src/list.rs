//! Listing worktrees: the registry's rows, reconciled with the disk and with git's own list.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_core::{BranchName, Diagnostic as _};
use paw_host::git::{self, Git, GitError};
use paw_host::locks::WorktreesLock;

use crate::error::WorktreeError;
use crate::registry::ManagedWorktree;
use crate::service::{Worktrees, require_repository};

/// The worktrees of one repository, or of every registered one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeListing {
    /// Oldest first.
    pub worktrees: Vec<ManagedWorktree>,
    /// Created by plain git, in git's order. [`Worktrees::adopt`] registers them.
    pub unmanaged: Vec<UnmanagedWorktree>,
    /// The main checkout of the repository; `None` for a bare one, and where all repositories are listed.
    pub main: Option<MainCheckout>,
}

/// The checkout that the repository itself is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MainCheckout {
    pub path: PathBuf,
    /// None if HEAD is detached.
    pub branch: Option<BranchName>,
}

impl WorktreeListing {
    pub fn is_empty(&self) -> bool {
        self.worktrees.is_empty() && self.unmanaged.is_empty()
    }
}

/// A linked worktree that is not in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmanagedWorktree {
    pub name: String,
    pub path: PathBuf,
    pub repo: PathBuf,
    /// None if HEAD is detached.
    pub branch: Option<BranchName>,
    pub missing: bool,
    pub locked: Option<String>,
}

impl Worktrees {
    /// Lists the worktrees of the repository that `repo` is in, or of every registered repository, without the main
    /// checkout. Reconciles rows with the disk: a directory that disappeared or returned is logged once.
    pub fn list(&self, repo: Option<&Path>) -> Result<WorktreeListing, WorktreeError> {
        self.recover()?;
        match repo {
            Some(dir) => {
                let listed = listed_from(dir)?;
                let rows = self.registry.load_rows(listed.first().map(|main| main.path.as_path()))?;
                self.merge(rows, &listed)
            }
            None => self.list_all(),
        }
    }

    fn list_all(&self) -> Result<WorktreeListing, WorktreeError> {
        let mut repositories: BTreeMap<PathBuf, Vec<ManagedWorktree>> = BTreeMap::new();
        for row in self.registry.load_rows(None)? {
            repositories.entry(row.common_dir.clone()).or_default().push(row);
        }
        let mut listing = WorktreeListing::default();
        for (common_dir, rows) in repositories {
            let part = if common_dir.exists() {
                self.list_readable(&common_dir, rows)
            } else {
                let worktrees = self.mark_without_repository(rows)?;
                WorktreeListing { worktrees, ..WorktreeListing::default() }
            };
            listing.worktrees.extend(part.worktrees);
            listing.unmanaged.extend(part.unmanaged);
        }
        listing.worktrees.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(listing)
    }

    /// An unreadable repository must not hide the others; its rows are listed with their last known status.
    fn list_readable(&self, common_dir: &Path, rows: Vec<ManagedWorktree>) -> WorktreeListing {
        let listed = list_worktrees_with_retry(&Git::at(common_dir), common_dir).map_err(WorktreeError::from);
        listed.and_then(|listed| self.merge(rows.clone(), &listed)).unwrap_or_else(|error| {
            tracing::warn!("cannot read repository {}: {}", common_dir.display(), error.report().message);
            WorktreeListing { worktrees: rows, ..WorktreeListing::default() }
        })
    }

    fn merge(
        &self,
        rows: Vec<ManagedWorktree>,
        listed: &[git::GitWorktree],
    ) -> Result<WorktreeListing, WorktreeError> {
        let worktrees = self.reconcile_rows(rows, listed)?;
        let Some((main, linked)) = listed.split_first() else {
            return Ok(WorktreeListing { worktrees, ..WorktreeListing::default() });
        };
        let ours: HashSet<&OsStr> = worktrees.iter().map(|row| row.path.as_os_str()).collect();
        let unmanaged = linked.iter().filter(|entry| !ours.contains(entry.path.as_os_str()));
        let unmanaged = unmanaged.map(|entry| UnmanagedWorktree::new(entry, &main.path)).collect();
        let main = (main.head != git::Head::Bare)
            .then(|| MainCheckout { path: main.path.clone(), branch: main.branch().cloned() });
        Ok(WorktreeListing { worktrees, unmanaged, main })
    }
}

impl UnmanagedWorktree {
    fn new(entry: &git::GitWorktree, repo: &Path) -> Self {
        Self {
            name: name_of(&entry.path, repo),
            path: entry.path.clone(),
            repo: repo.to_path_buf(),
            branch: entry.branch().cloned(),
            missing: entry.prunable.is_some() || !entry.path.exists(),
            locked: entry.locked.clone(),
        }
    }
}

/// The directory's name without the project prefix, as `create` would have named it.
pub(crate) fn name_of(path: &Path, repo: &Path) -> String {
    let last =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = last(path);
    match name.strip_prefix(&format!("{}-", last(repo).trim_end_matches(".git"))) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => name,
    }
}

fn listed_from(dir: &Path) -> Result<Vec<git::GitWorktree>, WorktreeError> {
    if let Ok(listed) = Git::at(dir).worktrees() {
        return Ok(listed);
    }
    // The slow path: it may not be a repository, or another process is registering a worktree.
    let repo = require_repository(dir)?;
    Ok(list_worktrees_with_retry(&repo.git(), &repo.common_dir)?)
}

/// `git worktree list` fails while another process registers a worktree. The retry waits for the lock.
pub(crate) fn list_worktrees_with_retry(
    git: &Git,
    common_dir: &Path,
) -> Result<Vec<git::GitWorktree>, GitError> {
    git.worktrees().or_else(|_| {
        let _lock = WorktreesLock::wait(common_dir);
        git.worktrees()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmanaged_worktree_name_omits_the_project_prefix() {
        let name = |path: &str| name_of(Path::new(path), Path::new("/home/app"));
        assert_eq!(
            (name("/home/app-x"), name("/tmp/other"), name("/tmp/app-")),
            ("x".into(), "other".into(), "app-".into())
        );
    }
}
