//! Directories that vanish and come back.
//!
//! A row whose directory is gone becomes stale: said once, on the log, when it is noticed first. Git is told to forget
//! such worktrees, because it keeps their branches reserved otherwise; before that, what only git's record holds (HEAD
//! and index) is stored under a rescue ref, other people's worktrees included. Locked ones are left alone.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use paw_host::git::{self, Git, Repo};
use paw_host::locks::WorktreesLock;

use crate::error::WorktreeError;
use crate::registry::{Status, Worktree};
use crate::relink::relink;
use crate::rescue;
use crate::service::{Worktrees, now, require_repository};

pub const MISSING: &str = "Worktree directory no longer exists";

/// What a look at the disk and at git's list says about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    AsExpected,
    /// The directory is gone, and the row does not know yet.
    Vanished,
    /// The directory is gone, the row knows, and git still reserves its branch.
    Remembered,
    /// All is well again.
    Returned,
    /// The directory is there, but git does not count it among its worktrees.
    Unlinked,
}

fn find(status: Status, on_disk: bool, listed: Option<&git::Worktree>) -> Finding {
    let linked = listed.is_some_and(|entry| entry.prunable.is_none());
    let unlocked = listed.is_some_and(|entry| entry.locked.is_none());
    match (status, on_disk) {
        (Status::Active | Status::Broken, false) => Finding::Vanished,
        (Status::Stale, false) if unlocked => Finding::Remembered,
        (Status::Active | Status::Stale | Status::Broken, true) if !linked => Finding::Unlinked,
        (Status::Stale | Status::Broken, true) => Finding::Returned,
        (Status::Active, true) | (Status::Stale, false) | (Status::Creating | Status::Removing, _) => {
            Finding::AsExpected
        }
    }
}

impl Worktrees {
    /// Compares every row with the disk and with git, as a daemon does when it starts.
    pub fn reconcile(&self) -> Result<Vec<Worktree>, WorktreeError> {
        Ok(self.list(None)?.worktrees)
    }

    /// The rows of one repository as they really are.
    pub(crate) fn compare(
        &self,
        mut rows: Vec<Worktree>,
        listed: &[git::Worktree],
    ) -> Result<Vec<Worktree>, WorktreeError> {
        let by_path: HashMap<&OsStr, &git::Worktree> =
            listed.iter().map(|entry| (entry.path.as_os_str(), entry)).collect();
        let on_git = |row: &Worktree| by_path.get(row.path.as_os_str()).copied();
        // Git has looked at the disk for those it neither calls prunable nor keeps in any case.
        let is_fine = |row: &Worktree| {
            on_git(row).is_some_and(|entry| entry.prunable.is_none() && entry.locked.is_none())
        };
        for row in &mut rows {
            if !is_fine(row) {
                self.follow(row)?;
            }
        }
        let findings: Vec<Finding> =
            rows.iter().map(|row| find(row.status, is_fine(row) || row.path.exists(), on_git(row))).collect();
        if findings.iter().any(|finding| matches!(finding, Finding::Vanished | Finding::Remembered))
            && let Some(row) = rows.first()
        {
            let repo = require_repository(&row.common_dir)?;
            let lock = WorktreesLock::wait(&repo.common_dir)?;
            self.retire_missing(&rows, listed, &repo, &lock)?;
        }
        for (row, finding) in rows.iter_mut().zip(findings) {
            match finding {
                Finding::AsExpected | Finding::Remembered => {}
                Finding::Vanished => (row.status, row.message) = (Status::Stale, Some(MISSING.to_owned())),
                Finding::Returned => self.revive(row)?,
                Finding::Unlinked => self.link_again(row)?,
            }
            if let Some(branch) = on_git(row).and_then(git::Worktree::branch) {
                row.branch = branch.clone();
            }
        }
        Ok(rows)
    }

    /// A worktree that `git worktree move` has moved keeps its row.
    fn follow(&self, row: &mut Worktree) -> Result<(), WorktreeError> {
        if row.status != Status::Active || row.path.exists() {
            return Ok(());
        }
        let moved_to = row.admin_dir.as_deref().and_then(git::worktree_of);
        if let Some(path) = moved_to.filter(|path| *path != row.path && path.exists()) {
            self.registry.set_path(&row.id, &path)?;
            row.path = path;
        }
        Ok(())
    }

    /// Stores what git's records hold, marks our rows, and makes git forget every missing worktree that is not locked.
    pub(crate) fn retire_missing(
        &self,
        rows: &[Worktree],
        listed: &[git::Worktree],
        repo: &Repo,
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        let prunable =
            listed.iter().skip(1).filter(|entry| entry.prunable.is_some() && entry.locked.is_none());
        let mut stored = false;
        for entry in prunable {
            // Gone when another process was faster.
            if let Some(admin_dir) = git::find_admin_dir(&repo.common_dir, &entry.path) {
                rescue::store_record(repo, &admin_dir, entry.branch(), "worktree directory disappeared")?;
                stored = true;
            }
        }
        let mut noticed = false;
        for row in rows.iter().filter(|row| matches!(row.status, Status::Active | Status::Broken)) {
            if !row.path.exists() {
                noticed |= self.mark_missing(row)?;
            }
        }
        crate::crash::point("stale:marked");
        if stored || noticed {
            repo.git().prune_worktrees(lock)?;
        }
        Ok(())
    }

    /// Says whether this process was the first to notice.
    fn mark_missing(&self, row: &Worktree) -> Result<bool, WorktreeError> {
        let first = self.registry.change_status(&row.id, row.status, Status::Stale, Some(MISSING), now())?;
        if first {
            tracing::warn!("Worktree {} directory missing: {}", row.id, row.path.display());
        }
        Ok(first)
    }

    fn revive(&self, row: &mut Worktree) -> Result<(), WorktreeError> {
        if self.registry.change_status(&row.id, row.status, Status::Active, None, now())? {
            tracing::info!("Worktree {} directory is back: {}", row.id, row.path.display());
        }
        (row.status, row.message) = (Status::Active, None);
        Ok(())
    }

    fn link_again(&self, row: &mut Worktree) -> Result<(), WorktreeError> {
        let linked = {
            let lock = WorktreesLock::wait(&row.common_dir)?;
            relink(row, &lock)
        };
        match linked {
            Ok(admin_dir) => {
                self.registry.set_admin_dir(&row.id, &admin_dir)?;
                row.admin_dir = Some(admin_dir);
                self.revive(row)
            }
            Err(problem) => self.mark_broken(row, &problem),
        }
    }

    fn mark_broken(&self, row: &mut Worktree, problem: &str) -> Result<(), WorktreeError> {
        if row.status != Status::Broken {
            tracing::warn!("Worktree {} at {} is broken: {problem}", row.id, row.path.display());
        }
        self.registry.change_status(&row.id, row.status, Status::Broken, Some(problem), now())?;
        (row.status, row.message) = (Status::Broken, Some(problem.to_owned()));
        Ok(())
    }

    /// Rows whose whole repository is gone.
    pub(crate) fn without_repository(&self, mut rows: Vec<Worktree>) -> Result<Vec<Worktree>, WorktreeError> {
        for row in &mut rows {
            if row.path.exists() {
                let problem = format!("its repository {} no longer exists", row.repo.display());
                self.mark_broken(row, &problem)?;
            } else if row.status != Status::Stale {
                self.mark_missing(row)?;
                (row.status, row.message) = (Status::Stale, Some(MISSING.to_owned()));
            }
        }
        Ok(rows)
    }

    /// One row as it really is. Asks git only when something looks wrong.
    pub(crate) fn refresh(&self, row: Worktree) -> Result<Worktree, WorktreeError> {
        if row.status == Status::Active && is_linked(&row) {
            return Ok(row);
        }
        if !row.common_dir.exists() {
            let rows = self.without_repository(vec![row.clone()])?;
            return Ok(rows.into_iter().next().unwrap_or(row));
        }
        let listed = crate::list::worktrees_patiently(&Git::at(&row.common_dir), &row.common_dir)?;
        let rows = self.compare(vec![row.clone()], &listed)?;
        Ok(rows.into_iter().next().unwrap_or(row))
    }
}

/// Whether the worktree's directory and git's directory about it point at each other.
pub(crate) fn is_linked(row: &Worktree) -> bool {
    git::admin_dir_named_in(&row.path)
        .is_some_and(|admin| git::worktree_of(&admin).is_some_and(|path| same_place(&path, &row.path)))
}

fn same_place(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_and_git_decide_what_a_row_is() {
        let entry = |prunable: bool, locked: bool| git::Worktree {
            path: "/w".into(),
            head: git::Head::Detached,
            commit: None,
            locked: locked.then(String::new),
            prunable: prunable.then(String::new),
        };
        let well = entry(false, false);
        let gone = entry(true, false);
        let gone_locked = entry(true, true);
        assert_eq!(find(Status::Active, true, Some(&well)), Finding::AsExpected);
        assert_eq!(find(Status::Active, false, Some(&gone)), Finding::Vanished);
        assert_eq!(find(Status::Active, false, Some(&gone_locked)), Finding::Vanished);
        assert_eq!(find(Status::Stale, false, Some(&gone)), Finding::Remembered);
        assert_eq!(find(Status::Stale, false, Some(&gone_locked)), Finding::AsExpected);
        assert_eq!(find(Status::Stale, false, None), Finding::AsExpected);
        assert_eq!(find(Status::Stale, true, Some(&well)), Finding::Returned);
        assert_eq!(find(Status::Stale, true, None), Finding::Unlinked);
        assert_eq!(find(Status::Active, true, None), Finding::Unlinked);
        assert_eq!(find(Status::Creating, false, None), Finding::AsExpected);
    }
}
