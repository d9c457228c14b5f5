//! Removing worktrees, without losing what is in them.
//!
//! What only this worktree holds is stored under a rescue ref before the row says `removing`. From then on the removal
//! is finished, by us or by the next process.

mod against;

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{self, Git, GitError, Repo};
use paw_host::locks::WorktreesLock;
use paw_host::process::{self, LivingProcess};

pub(crate) use self::against::require_alone;
use self::against::{end, who_stays_in};
use crate::crash;
use crate::create::said;
use crate::error::WorktreeError;
use crate::list::worktrees_patiently;
use crate::reconcile::is_linked;
use crate::registry::{Status, Worktree};
use crate::rescue::{self, Rescue, RescueError, RescueRequest};
use crate::rollback::{delete, delete_files, find_left, remove_made_parents};
use crate::service::{Operation, Worktrees, now, require_repository};

/// How much may be done away with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoveOptions {
    /// Remove it dirty, locked, inhabited or in conversation; its changes are stored, its processes ended.
    pub force: bool,
    /// The branch goes too, unless it is the default branch, checked out elsewhere, or not the one checked out here.
    /// Unmerged commits are stored.
    pub delete_branch: bool,
    /// Store ignored files as well.
    pub include_ignored: bool,
}

/// What was done.
#[derive(Debug)]
pub struct Removed {
    pub worktree: Worktree,
    pub sessions_closed: u32,
    /// Where the work is that would have been lost.
    pub rescue: Option<Rescue>,
    /// Ignored files and directories that went without being stored.
    pub ignored_left_behind: Vec<PathBuf>,
    pub branch_deleted: bool,
    pub ended: Vec<LivingProcess>,
    /// What was left alone, and why.
    pub notes: Vec<String>,
}

/// What a look for directories that are gone has led to.
#[derive(Debug, Default)]
pub struct Pruned {
    pub removed: Vec<Removed>,
    /// Gone as well, but somebody has said that they come back.
    pub locked: Vec<Worktree>,
}

impl Worktrees {
    pub fn remove(
        &self,
        id_or_name: &str,
        repo: Option<&Path>,
        options: RemoveOptions,
    ) -> Result<Removed, WorktreeError> {
        let row = self.require_own(id_or_name, repo)?;
        let busy = || WorktreeError::Busy { id: row.id.clone() };
        let operation = self.begin(&row.id)?.ok_or_else(busy)?;
        let row =
            self.registry.find(&row.id)?.ok_or_else(|| WorktreeError::Unknown(id_or_name.to_owned()))?;
        // The branch it was made for, whatever is checked out there now.
        let branch = row.branch.clone();
        let row = Worktree { branch, ..self.refresh(row)? };
        match row.status {
            Status::Active => self.remove_present(row, options, operation),
            Status::Stale => self.forget(row, options),
            // The directory is not what we made; it is not ours to delete.
            Status::Broken if options.force => {
                let mut removed = self.forget(row, options)?;
                removed.notes.push(format!("{} was left as it is", removed.worktree.path.display()));
                Ok(removed)
            }
            Status::Broken => {
                Err(WorktreeError::Broken { path: row.path, problem: row.message.unwrap_or_default() })
            }
            Status::Creating | Status::Removing => Err(WorktreeError::Busy { id: row.id }),
        }
    }

    /// Forgets every worktree whose directory is gone, except locked ones.
    pub fn prune(&self, repo: Option<&Path>) -> Result<Pruned, WorktreeError> {
        let mut pruned = Pruned::default();
        for row in self.list(repo)?.worktrees.into_iter().filter(|row| row.status == Status::Stale) {
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
        row: Worktree,
        options: RemoveOptions,
        operation: Operation,
    ) -> Result<Removed, WorktreeError> {
        let repo = require_repository(&row.common_dir)?;
        let listed = worktrees_patiently(&repo.git(), &repo.common_dir)?;
        require_alone(&row, &listed)?;
        let entry = listed.iter().find(|entry| entry.path == row.path);
        let inhabitants = if options.force { process::living_in(&row.path) } else { who_stays_in(&row.path) };
        let ignored =
            if options.force { None } else { Some(self.require_harmless(&row, entry, &inhabitants)?) };
        let ended = end(inhabitants)?;
        let branch = entry.and_then(git::Worktree::branch).cloned();
        let (leaving, mut notes) = leaving_branch(&repo, &listed, &row, branch.as_ref(), options)?;
        let rescue = store_patiently(&RescueRequest {
            repo: &repo,
            worktree: &row.path,
            branch: branch.as_ref(),
            reason: "worktree removed",
            include_ignored: options.include_ignored,
            branch_goes_too: leaving.is_some(),
        })?;
        let ignored_left_behind = match (&rescue, ignored) {
            (Some(rescue), _) => rescue.ignored_left_behind.clone(),
            (None, Some(ignored)) => ignored,
            (None, None) => rescue::find_ignored(&row.path)?,
        };
        crash::point("remove:rescued");
        if !self.registry.change_status(&row.id, row.status, Status::Removing, None, now())? {
            return Err(WorktreeError::Busy { id: row.id });
        }
        crash::point("remove:marked");
        self.delete_worktree(&row, &repo)?;
        crash::point("remove:deleted");
        let branch_deleted = match leaving {
            Some(branch) => match delete_branch(&repo, &branch)? {
                Ok(()) => true,
                Err(error) => {
                    notes.push(format!("branch '{branch}' was kept: {}", said(error)));
                    false
                }
            },
            None => false,
        };
        crash::point("remove:branch");
        let sessions_closed = self.registry.delete(&row.id, now())?;
        drop(operation);
        Ok(Removed {
            worktree: row,
            sessions_closed,
            rescue,
            ignored_left_behind,
            branch_deleted,
            ended,
            notes,
        })
    }

    fn delete_worktree(&self, row: &Worktree, repo: &Repo) -> Result<(), WorktreeError> {
        let lock = WorktreesLock::wait(&repo.common_dir)?;
        let Err(refused) = repo.git().remove_worktree(&row.path, &lock) else {
            remove_made_parents(row);
            return Ok(());
        };
        // Git gives up at the first file it cannot delete, and forgets the worktree all the same. What is at the path
        // was this worktree a moment ago.
        let deleted = delete(&row.path).map_err(WorktreeError::from);
        let Err(problem) = deleted.and_then(|()| delete_files(row, &lock)) else {
            remove_made_parents(row);
            return Ok(());
        };
        let left = find_left(&row.path);
        let (status, message) = if is_linked(row) {
            (Status::Active, None)
        } else {
            let message = format!("its removal was not finished: {} is still there", left.display());
            (Status::Broken, Some(message))
        };
        self.registry.change_status(&row.id, Status::Removing, status, message.as_deref(), now())?;
        let stderr = format!("{}\n{problem}; still there: {}", said(refused), left.display());
        Err(WorktreeError::RemovalFailed { stderr })
    }

    /// Drops the row of a worktree that has no directory any more, or not one of ours.
    fn forget(&self, row: Worktree, options: RemoveOptions) -> Result<Removed, WorktreeError> {
        let mut notes = Vec::new();
        if row.common_dir.exists() {
            let git = Git::at(&row.common_dir);
            let listed = worktrees_patiently(&git, &row.common_dir)?;
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
                notes.push(format!(
                    "branch '{}' was kept: nothing can be said about its worktree",
                    row.branch
                ));
            }
        }
        let sessions_closed = self.registry.delete(&row.id, now())?;
        Ok(Removed {
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

/// Git's walk over all branches fails when one of them is deleted meanwhile; then it walks again when nobody does.
pub(crate) fn store_patiently(request: &RescueRequest<'_>) -> Result<Option<Rescue>, WorktreeError> {
    match rescue::store_if_needed(request) {
        Err(RescueError::Git(_)) => {
            let _lock = WorktreesLock::wait(&request.repo.common_dir)?;
            Ok(rescue::store_if_needed(request)?)
        }
        answer => Ok(answer?),
    }
}

fn delete_branch(repo: &Repo, branch: &BranchName) -> Result<Result<(), GitError>, WorktreeError> {
    let _lock = WorktreesLock::wait(&repo.common_dir)?;
    Ok(repo.git().delete_branch(branch))
}

/// The branch that goes with the worktree, if one may.
fn leaving_branch(
    repo: &Repo,
    listed: &[git::Worktree],
    row: &Worktree,
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
