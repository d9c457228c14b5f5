//! Removing worktrees without losing work.
//!
//! Work that only this worktree holds is stored as a rescue before the row changes to `removing`. After that, the
//! removal is always completed: by this process, or by the next one if this one dies.

mod preconditions;

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{self, Git, GitError, Repo};
use paw_host::locks::WorktreesLock;
use paw_host::process::{self, ProcessInfo};

pub(crate) use self::preconditions::require_no_nested_worktrees;
use self::preconditions::{end_processes, require_no_work};
use crate::crash;
use crate::create::git_stderr;
use crate::error::WorktreeError;
use crate::list::list_worktrees_with_retry;
use crate::reconcile::is_linked;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::rescue::{self, Rescue, RescueError, RescueRequest};
use crate::rollback::{delete_dir, delete_files, find_remaining_file, remove_created_parents};
use crate::service::{OperationGuard, Worktrees, now, require_repository};

/// What a removal may delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoveOptions {
    /// Remove the worktree even if it is dirty, locked, or in use. Changes are stored, processes are ended.
    pub force: bool,
    /// Delete the branch too, unless it is the default branch, checked out elsewhere, or not the one checked out here.
    /// Unmerged commits are stored.
    pub delete_branch: bool,
    /// Store ignored files as well.
    pub include_ignored: bool,
}

/// The result of a removal.
#[derive(Debug)]
pub struct RemovedWorktree {
    pub worktree: ManagedWorktree,
    pub sessions_closed: u32,
    /// The work that would have been lost.
    pub rescue: Option<Rescue>,
    /// Ignored files and directories that were deleted without being stored.
    pub ignored_left_behind: Vec<PathBuf>,
    pub branch_deleted: bool,
    pub ended: Vec<ProcessInfo>,
    /// What was kept, and why.
    pub notes: Vec<String>,
}

/// The result of pruning stale worktrees.
#[derive(Debug, Default)]
pub struct PrunedWorktrees {
    pub removed: Vec<RemovedWorktree>,
    /// Stale, but kept because they are locked.
    pub locked: Vec<ManagedWorktree>,
}

impl Worktrees {
    pub fn remove(
        &self,
        id_or_name: &str,
        repo: Option<&Path>,
        options: RemoveOptions,
    ) -> Result<RemovedWorktree, WorktreeError> {
        let row = self.require_in_repository(id_or_name, repo)?;
        let busy = || WorktreeError::Busy { id: row.id.clone() };
        let operation = self.try_begin(&row.id)?.ok_or_else(busy)?;
        let row =
            self.registry.find(&row.id)?.ok_or_else(|| WorktreeError::Unknown(id_or_name.to_owned()))?;
        // The branch it was created for, even if another one is checked out now.
        let branch = row.branch.clone();
        let row = ManagedWorktree { branch, ..self.refresh(row)? };
        match row.status {
            WorktreeStatus::Active => self.remove_present(row, options, operation),
            WorktreeStatus::Stale => self.forget(row, options),
            // The directory is not the one we created, so it is not ours to delete.
            WorktreeStatus::Broken if options.force => {
                let mut removed = self.forget(row, options)?;
                removed.notes.push(format!("{} was left unchanged", removed.worktree.path.display()));
                Ok(removed)
            }
            WorktreeStatus::Broken => {
                Err(WorktreeError::Broken { path: row.path, problem: row.message.unwrap_or_default() })
            }
            WorktreeStatus::Creating | WorktreeStatus::Removing => Err(WorktreeError::Busy { id: row.id }),
        }
    }

    /// Unregisters every worktree whose directory no longer exists, except locked ones.
    pub fn prune(&self, repo: Option<&Path>) -> Result<PrunedWorktrees, WorktreeError> {
        let mut pruned = PrunedWorktrees::default();
        for row in self.list(repo)?.worktrees.into_iter().filter(|row| row.status == WorktreeStatus::Stale) {
            match self.remove(row.id.as_str(), None, RemoveOptions::default()) {
                Ok(removed) => pruned.removed.push(removed),
                Err(WorktreeError::Locked { .. }) => pruned.locked.push(row),
                Err(error) => return Err(error),
            }
        }
        Ok(pruned)
    }

    fn remove_present(
        &self,
        row: ManagedWorktree,
        options: RemoveOptions,
        operation: OperationGuard,
    ) -> Result<RemovedWorktree, WorktreeError> {
        let repo = require_repository(&row.common_dir)?;
        let listed = list_worktrees_with_retry(&repo.git(), &repo.common_dir)?;
        require_no_nested_worktrees(&row, &listed)?;
        let entry = listed.iter().find(|entry| entry.path == row.path);
        let (processes, ignored) = if options.force {
            (process::processes_in(&row.path), None)
        } else {
            self.require_unused(&row, entry)?;
            (Vec::new(), Some(require_no_work(&row)?))
        };
        let ended = end_processes(processes)?;
        let branch = entry.and_then(git::GitWorktree::branch).cloned();
        let (branch_to_delete, mut notes) =
            find_branch_to_delete(&repo, &listed, &row, branch.as_ref(), options)?;
        let rescue = store_with_retry(&RescueRequest {
            repo: &repo,
            worktree: &row.path,
            branch: branch.as_ref(),
            reason: "worktree removed",
            include_ignored: options.include_ignored,
            delete_branch: branch_to_delete.is_some(),
        })?;
        let ignored_left_behind = match (&rescue, ignored) {
            (Some(rescue), _) => rescue.ignored_left_behind.clone(),
            (None, Some(ignored)) => ignored,
            (None, None) => rescue::find_ignored(&row.path)?,
        };
        if rescue.is_none() {
            // The commits stay, but so far perhaps only in memory.
            git::sync_repository(&repo.common_dir)?;
        }
        crash::point("remove:rescued");
        let stored = rescue.as_ref().map(|rescue| format!("{STORED}{}", rescue.id));
        let (from, to) = (row.status, WorktreeStatus::Removing);
        if !self.registry.change_status(&row.id, from, to, stored.as_deref(), now())? {
            return Err(WorktreeError::Busy { id: row.id });
        }
        crash::point("remove:marked");
        self.delete_worktree(&row, &repo)?;
        crash::point("remove:deleted");
        let branch_deleted = match branch_to_delete {
            Some(branch) => match delete_branch(&repo, &branch)? {
                Ok(()) => true,
                Err(error) => {
                    notes.push(format!("branch '{branch}' was kept: {}", git_stderr(error)));
                    false
                }
            },
            None => false,
        };
        crash::point("remove:branch");
        let sessions_closed = self.registry.delete(&row.id, now())?;
        drop(operation);
        Ok(RemovedWorktree {
            worktree: row,
            sessions_closed,
            rescue,
            ignored_left_behind,
            branch_deleted,
            ended,
            notes,
        })
    }

    fn delete_worktree(&self, row: &ManagedWorktree, repo: &Repo) -> Result<(), WorktreeError> {
        let lock = WorktreesLock::wait(&repo.common_dir)?;
        let Err(refused) = repo.git().remove_worktree(&row.path, &lock) else {
            remove_created_parents(row);
            return Ok(());
        };
        // Git stops at the first file it cannot delete, but drops its record anyway. The path was this worktree a moment
        // ago, so deleting the rest is safe.
        let deleted = delete_dir(&row.path).map_err(WorktreeError::from);
        let Err(problem) = deleted.and_then(|()| delete_files(row, &lock)) else {
            remove_created_parents(row);
            return Ok(());
        };
        let left = find_remaining_file(&row.path);
        let (status, message) = if is_linked(row) {
            (WorktreeStatus::Active, None)
        } else {
            let message = format!("its removal is incomplete: {} still exists", left.display());
            (WorktreeStatus::Broken, Some(message))
        };
        self.registry.change_status(&row.id, WorktreeStatus::Removing, status, message.as_deref(), now())?;
        let stderr = format!("{}\n{problem}; still exists: {}", git_stderr(refused), left.display());
        Err(WorktreeError::RemovalFailed { stderr })
    }

    /// Deletes the row of a worktree whose directory is missing or not ours.
    fn forget(&self, row: ManagedWorktree, options: RemoveOptions) -> Result<RemovedWorktree, WorktreeError> {
        let mut notes = Vec::new();
        if row.common_dir.exists() {
            let git = Git::at(&row.common_dir);
            let listed = list_worktrees_with_retry(&git, &row.common_dir)?;
            let locked = listed.iter().find(|entry| entry.path == row.path && entry.locked.is_some());
            if let Some(reason) = locked.and_then(|entry| entry.locked.clone()) {
                if !options.force {
                    return Err(WorktreeError::Locked { reason });
                }
                let repo = require_repository(&row.common_dir)?;
                let lock = WorktreesLock::wait(&repo.common_dir)?;
                git.unlock_worktree(&row.path, &lock)?;
                self.retire_missing(&[], &git.worktrees()?, &repo, &lock)?;
            }
            if options.delete_branch {
                notes.push(format!("branch '{}' was kept: its worktree cannot be inspected", row.branch));
            }
        }
        let sessions_closed = self.registry.delete(&row.id, now())?;
        Ok(RemovedWorktree {
            worktree: row,
            sessions_closed,
            rescue: None,
            ignored_left_behind: Vec::new(),
            branch_deleted: false,
            ended: Vec::new(),
            notes,
        })
    }
}

/// In the message of a row that is being removed: the rescue with its work.
const STORED: &str = "stored as ";

/// The rescue with the work of a worktree whose removal was interrupted.
pub(crate) fn find_stored(row: &ManagedWorktree) -> Option<&str> {
    row.message.as_deref()?.strip_prefix(STORED)
}

/// Git fails if a branch is deleted while it reads all branches. The retry holds the lock, so that cannot happen again.
pub(crate) fn store_with_retry(request: &RescueRequest<'_>) -> Result<Option<Rescue>, WorktreeError> {
    match rescue::store_if_needed(request) {
        Err(RescueError::Git(_)) => {
            let _lock = WorktreesLock::wait(&request.repo.common_dir)?;
            Ok(rescue::store_if_needed(request)?)
        }
        result => Ok(result?),
    }
}

fn delete_branch(repo: &Repo, branch: &BranchName) -> Result<Result<(), GitError>, WorktreeError> {
    let _lock = WorktreesLock::wait(&repo.common_dir)?;
    Ok(repo.git().delete_branch(branch))
}

/// The branch to delete with the worktree, if that is allowed, and otherwise why not.
fn find_branch_to_delete(
    repo: &Repo,
    listed: &[git::GitWorktree],
    row: &ManagedWorktree,
    branch: Option<&BranchName>,
    options: RemoveOptions,
) -> Result<(Option<BranchName>, Vec<String>), WorktreeError> {
    if !options.delete_branch {
        return Ok((None, Vec::new()));
    }
    let kept = |why: &str| Ok((None, vec![format!("branch '{}' was kept: {why}", row.branch)]));
    let branch = match branch {
        Some(branch) if *branch == row.branch => branch,
        Some(other) => return kept(&format!("its worktree had '{other}' checked out, which was kept too")),
        None => return kept("its worktree had no branch checked out"),
    };
    if repo.git().find_default_branch()?.as_ref() == Some(branch) {
        return kept("it is the default branch");
    }
    if listed.iter().any(|entry| entry.path != row.path && entry.branch() == Some(branch)) {
        return kept("it is checked out elsewhere");
    }
    Ok((Some(branch.clone()), Vec::new()))
}
