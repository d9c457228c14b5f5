//! Reconciling the registry with the disk and with git.
//!
//! A row whose directory is missing becomes stale, and the first process to notice logs a warning. Git is asked to prune
//! such worktrees, because it keeps their branches reserved. Before that, HEAD and index from git's records are stored as
//! rescues, also for unmanaged worktrees. Locked worktrees are left alone.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_host::git::{self, Git, Repo};
use paw_host::locks::WorktreesLock;

use crate::error::WorktreeError;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::rescue;
use crate::service::{Worktrees, now, require_repository};

pub const MISSING: &str = "Worktree directory no longer exists";

/// How a row compares with the disk and with git's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    AsExpected,
    /// The directory is missing, and the row is not marked stale yet.
    Vanished,
    /// The directory is missing, the row is stale, and git still reserves the branch.
    StillReserved,
    /// The directory exists again and is linked.
    Returned,
    /// The directory exists, but git does not list it as a worktree.
    Unlinked,
}

fn classify(status: WorktreeStatus, on_disk: bool, listed: Option<&git::GitWorktree>) -> Finding {
    let linked = listed.is_some_and(|entry| entry.prunable.is_none());
    let unlocked = listed.is_some_and(|entry| entry.locked.is_none());
    match (status, on_disk) {
        (WorktreeStatus::Active | WorktreeStatus::Broken, false) => Finding::Vanished,
        (WorktreeStatus::Stale, false) if unlocked => Finding::StillReserved,
        (WorktreeStatus::Active | WorktreeStatus::Stale | WorktreeStatus::Broken, true) if !linked => {
            Finding::Unlinked
        }
        (WorktreeStatus::Stale | WorktreeStatus::Broken, true) => Finding::Returned,
        (WorktreeStatus::Active, true)
        | (WorktreeStatus::Stale, false)
        | (WorktreeStatus::Creating | WorktreeStatus::Removing, _) => Finding::AsExpected,
    }
}

impl Worktrees {
    /// Reconciles every row, as the daemon does when it starts.
    pub fn reconcile(&self) -> Result<Vec<ManagedWorktree>, WorktreeError> {
        Ok(self.list(None)?.worktrees)
    }

    /// Reconciles the rows of one repository and returns them with their current status.
    pub(crate) fn reconcile_rows(
        &self,
        mut rows: Vec<ManagedWorktree>,
        listed: &[git::GitWorktree],
    ) -> Result<Vec<ManagedWorktree>, WorktreeError> {
        let by_path: HashMap<&OsStr, &git::GitWorktree> =
            listed.iter().map(|entry| (entry.path.as_os_str(), entry)).collect();
        let git_entry = |row: &ManagedWorktree| by_path.get(row.path.as_os_str()).copied();
        // Git has checked the directory of every entry that is neither prunable nor locked.
        let is_fine = |row: &ManagedWorktree| {
            git_entry(row).is_some_and(|entry| entry.prunable.is_none() && entry.locked.is_none())
        };
        for row in &mut rows {
            if !is_fine(row) {
                self.follow_move(row)?;
            }
        }
        let findings: Vec<Finding> = rows
            .iter()
            .map(|row| classify(row.status, is_fine(row) || row.path.exists(), git_entry(row)))
            .collect();
        if findings.iter().any(|finding| matches!(finding, Finding::Vanished | Finding::StillReserved))
            && let Some(row) = rows.first()
        {
            let repo = require_repository(&row.common_dir)?;
            let lock = WorktreesLock::wait(&repo.common_dir)?;
            self.retire_missing(&rows, listed, &repo, &lock)?;
        }
        for (row, finding) in rows.iter_mut().zip(findings) {
            match finding {
                Finding::AsExpected | Finding::StillReserved => {}
                Finding::Vanished => {
                    (row.status, row.message) = (WorktreeStatus::Stale, Some(MISSING.to_owned()));
                }
                Finding::Returned => self.mark_active(row)?,
                Finding::Unlinked => self.relink_or_mark_broken(row)?,
            }
            if let Some(branch) = git_entry(row).and_then(git::GitWorktree::branch) {
                row.branch = branch.clone();
            }
        }
        Ok(rows)
    }

    /// Updates the path of a worktree that was moved with `git worktree move`.
    fn follow_move(&self, row: &mut ManagedWorktree) -> Result<(), WorktreeError> {
        if row.status != WorktreeStatus::Active || row.path.exists() {
            return Ok(());
        }
        let moved_to = row.admin_dir.as_deref().and_then(git::worktree_of);
        if let Some(path) = moved_to.filter(|path| *path != row.path && path.exists()) {
            self.registry.set_path(&row.id, &path)?;
            row.path = path;
        }
        Ok(())
    }

    /// Stores git's records of missing worktrees, marks their rows stale, and prunes them. Locked ones are kept.
    pub(crate) fn retire_missing(
        &self,
        rows: &[ManagedWorktree],
        listed: &[git::GitWorktree],
        repo: &Repo,
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        let prunable =
            listed.iter().skip(1).filter(|entry| entry.prunable.is_some() && entry.locked.is_none());
        let mut stored = false;
        for entry in prunable {
            // Absent if another process was faster.
            if let Some(admin_dir) = git::find_admin_dir(&repo.common_dir, &entry.path) {
                rescue::store_record(repo, &admin_dir, entry.branch(), "worktree directory disappeared")?;
                stored = true;
            }
        }
        let mut noticed = false;
        for row in
            rows.iter().filter(|row| matches!(row.status, WorktreeStatus::Active | WorktreeStatus::Broken))
        {
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

    /// Returns whether this process was the first to notice.
    fn mark_missing(&self, row: &ManagedWorktree) -> Result<bool, WorktreeError> {
        let first =
            self.registry.change_status(&row.id, row.status, WorktreeStatus::Stale, Some(MISSING), now())?;
        if first {
            tracing::warn!("Worktree {} directory missing: {}", row.id, row.path.display());
        }
        Ok(first)
    }

    fn mark_active(&self, row: &mut ManagedWorktree) -> Result<(), WorktreeError> {
        if self.registry.change_status(&row.id, row.status, WorktreeStatus::Active, None, now())? {
            tracing::info!("Worktree {} directory is back: {}", row.id, row.path.display());
        }
        (row.status, row.message) = (WorktreeStatus::Active, None);
        Ok(())
    }

    fn relink_or_mark_broken(&self, row: &mut ManagedWorktree) -> Result<(), WorktreeError> {
        let linked = {
            let lock = WorktreesLock::wait(&row.common_dir)?;
            relink(row, &lock)
        };
        match linked {
            Ok(admin_dir) => {
                self.registry.set_admin_dir(&row.id, &admin_dir)?;
                row.admin_dir = Some(admin_dir);
                self.mark_active(row)
            }
            Err(problem) => self.mark_broken(row, &problem),
        }
    }

    fn mark_broken(&self, row: &mut ManagedWorktree, problem: &str) -> Result<(), WorktreeError> {
        if row.status != WorktreeStatus::Broken {
            tracing::warn!("Worktree {} at {} is broken: {problem}", row.id, row.path.display());
        }
        self.registry.change_status(&row.id, row.status, WorktreeStatus::Broken, Some(problem), now())?;
        (row.status, row.message) = (WorktreeStatus::Broken, Some(problem.to_owned()));
        Ok(())
    }

    /// Marks rows whose whole repository is missing.
    pub(crate) fn mark_without_repository(
        &self,
        mut rows: Vec<ManagedWorktree>,
    ) -> Result<Vec<ManagedWorktree>, WorktreeError> {
        for row in &mut rows {
            if row.path.exists() {
                let problem = format!("its repository {} no longer exists", row.repo.display());
                self.mark_broken(row, &problem)?;
            } else if row.status != WorktreeStatus::Stale {
                self.mark_missing(row)?;
                (row.status, row.message) = (WorktreeStatus::Stale, Some(MISSING.to_owned()));
            }
        }
        Ok(rows)
    }

    /// Reconciles one row. Asks git only if something looks wrong.
    pub(crate) fn refresh(&self, row: ManagedWorktree) -> Result<ManagedWorktree, WorktreeError> {
        if row.status == WorktreeStatus::Active && is_linked(&row) {
            return Ok(row);
        }
        if !row.common_dir.exists() {
            let rows = self.mark_without_repository(vec![row.clone()])?;
            return Ok(rows.into_iter().next().unwrap_or(row));
        }
        let listed = crate::list::list_worktrees_with_retry(&Git::at(&row.common_dir), &row.common_dir)?;
        let rows = self.reconcile_rows(vec![row.clone()], &listed)?;
        Ok(rows.into_iter().next().unwrap_or(row))
    }
}

/// Whether the worktree's directory and git's admin directory point at each other.
pub(crate) fn is_linked(row: &ManagedWorktree) -> bool {
    git::find_linked_admin_dir(&row.path)
        .is_some_and(|admin| git::worktree_of(&admin).is_some_and(|path| is_same_dir(&path, &row.path)))
}

fn is_same_dir(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Links a directory that git no longer lists, and returns its admin directory. The error says what is wrong and what to
/// do.
fn relink(row: &ManagedWorktree, lock: &WorktreesLock) -> Result<PathBuf, String> {
    let Some(admin) = git::find_linked_admin_dir(&row.path).filter(|dir| dir.starts_with(&row.common_dir))
    else {
        return Err(format!(
            "the directory is no longer a worktree of {} (move it away, or run: git paw worktree remove --force {})",
            row.repo.display(),
            row.id
        ));
    };
    if is_linked(row) {
        return Ok(admin);
    }
    let repo = require_repository(&row.common_dir).map_err(|error| error.to_string())?;
    match rescue::find_record(&repo, &row.path) {
        Ok(Some(record)) => rescue::restore_record(&repo, &record.id, &row.path, lock)
            .map(|relinked| relinked.admin_dir)
            .map_err(|error| error.to_string()),
        Ok(None) => Err(format!(
            "git no longer has a record of this worktree (move the directory away, run: git paw worktree remove {}, create the \
             worktree again and move your changes there)",
            row.id
        )),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classify_compares_a_row_with_disk_and_git() {
        let entry = |prunable: bool, locked: bool| git::GitWorktree {
            path: "/w".into(),
            head: git::Head::Detached,
            commit: None,
            locked: locked.then(String::new),
            prunable: prunable.then(String::new),
        };
        let present = entry(false, false);
        let gone = entry(true, false);
        let gone_locked = entry(true, true);
        assert_eq!(classify(WorktreeStatus::Active, true, Some(&present)), Finding::AsExpected);
        assert_eq!(classify(WorktreeStatus::Active, false, Some(&gone)), Finding::Vanished);
        assert_eq!(classify(WorktreeStatus::Active, false, Some(&gone_locked)), Finding::Vanished);
        assert_eq!(classify(WorktreeStatus::Stale, false, Some(&gone)), Finding::StillReserved);
        assert_eq!(classify(WorktreeStatus::Stale, false, Some(&gone_locked)), Finding::AsExpected);
        assert_eq!(classify(WorktreeStatus::Stale, false, None), Finding::AsExpected);
        assert_eq!(classify(WorktreeStatus::Stale, true, Some(&present)), Finding::Returned);
        assert_eq!(classify(WorktreeStatus::Stale, true, None), Finding::Unlinked);
        assert_eq!(classify(WorktreeStatus::Active, true, None), Finding::Unlinked);
        assert_eq!(classify(WorktreeStatus::Creating, false, None), Finding::AsExpected);
    }
}
