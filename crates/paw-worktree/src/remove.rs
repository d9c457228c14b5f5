//! Removing worktrees, without losing what is in them.
//!
//! What only this worktree holds is stored under a rescue ref before the row says `removing`. From then on the removal
//! is finished, by us or by the next process.

use std::path::Path;
use std::thread;
use std::time::Duration;

use paw_core::BranchName;
use paw_host::clock::Stopwatch;
use paw_host::git::{self, DifferenceKind, Git, GitError, Repo};
use paw_host::process::{self, LivingProcess};

use crate::crash;
use crate::create::said;
use crate::error::WorktreeError;
use crate::list::worktrees_patiently;
use crate::reconcile::is_linked;
use crate::registry::{ConversationStatus, Status, Worktree};
use crate::rescue::{self, Rescue, RescueError, RescueRequest};
use crate::rollback::{delete_files, remove_made_parents};
use crate::service::{Operation, RepositoryLock, Worktrees, now, require_repository};

/// How long somebody may be on the way through a worktree.
const PASSING: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How much may be done away with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoveOptions {
    /// Remove it dirty, locked, inhabited or in conversation; its changes are stored, its processes ended.
    pub force: bool,
    /// The branch goes too, unless it is the default branch or checked out elsewhere. Unmerged commits are stored.
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
    pub branch_deleted: bool,
    pub ended: Vec<LivingProcess>,
    /// What was left alone, and why.
    pub notes: Vec<String>,
}

impl Worktrees {
    pub fn remove(
        &self,
        id_or_name: &str,
        repo: Option<&Path>,
        options: RemoveOptions,
    ) -> Result<Removed, WorktreeError> {
        let row = self.require(id_or_name, repo)?;
        let busy = || WorktreeError::Busy { id: row.id.clone() };
        let operation = self.begin(&row.id)?.ok_or_else(busy)?;
        let row =
            self.registry.find(&row.id)?.ok_or_else(|| WorktreeError::Unknown(id_or_name.to_owned()))?;
        let row = self.refresh(row)?;
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

    /// Forgets every worktree whose directory is gone.
    pub fn prune(&self, repo: Option<&Path>) -> Result<Vec<Removed>, WorktreeError> {
        let stale = self.list(repo)?.worktrees.into_iter().filter(|row| row.status == Status::Stale);
        stale.map(|row| self.remove(row.id.as_str(), None, RemoveOptions::default())).collect()
    }

    fn remove_present(
        &self,
        row: Worktree,
        options: RemoveOptions,
        operation: Operation,
    ) -> Result<Removed, WorktreeError> {
        let repo = require_repository(&row.common_dir)?;
        let listed = worktrees_patiently(&repo.git(), &repo.common_dir)?;
        let entry = listed.iter().find(|entry| entry.path == row.path);
        let inhabitants = if options.force { process::living_in(&row.path) } else { who_stays_in(&row.path) };
        if !options.force {
            self.require_harmless(&row, entry, &inhabitants)?;
        }
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
        Ok(Removed { worktree: row, sessions_closed, rescue, branch_deleted, ended, notes })
    }

    /// What nobody may lose without having said so.
    fn require_harmless(
        &self,
        row: &Worktree,
        entry: Option<&git::Worktree>,
        inhabitants: &[LivingProcess],
    ) -> Result<(), WorktreeError> {
        if let Some(reason) = entry.and_then(|entry| entry.locked.clone()) {
            return Err(WorktreeError::Locked { reason });
        }
        let conversations = self.registry.conversations(Some(&row.id))?;
        let active = conversations.into_iter().filter(|talk| talk.status == ConversationStatus::Active);
        let ids: Vec<_> = active.map(|talk| talk.id).collect();
        if !ids.is_empty() {
            return Err(WorktreeError::InConversation { ids });
        }
        if !inhabitants.is_empty() {
            return Err(inhabited(inhabitants));
        }
        let differences = Git::at(&row.path).differences()?.into_iter();
        let files: Vec<_> = differences
            .filter(|found| found.kind != DifferenceKind::Ignored)
            .map(|found| found.path)
            .collect();
        if files.is_empty() { Ok(()) } else { Err(WorktreeError::Dirty { files }) }
    }

    fn delete_worktree(&self, row: &Worktree, repo: &Repo) -> Result<(), WorktreeError> {
        let lock = RepositoryLock::wait(&repo.common_dir)?;
        // Git gives up at the first file it cannot delete; then whatever can be deleted is.
        let Err(refused) = repo.git().remove_worktree(&row.path) else {
            remove_made_parents(row);
            return Ok(());
        };
        if delete_files(row, &lock).is_ok() {
            remove_made_parents(row);
            return Ok(());
        }
        if is_linked(row) {
            self.registry.change_status(&row.id, Status::Removing, Status::Active, None, now())?;
        }
        Err(WorktreeError::RemovalFailed { stderr: said(refused) })
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
                git.unlock_worktree(&row.path)?;
                let repo = require_repository(&row.common_dir)?;
                let lock = RepositoryLock::wait(&repo.common_dir)?;
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
            branch_deleted: false,
            ended: Vec::new(),
            notes,
        })
    }
}

/// Git's walk over all branches fails when one of them is deleted meanwhile; then it walks again when nobody does.
/// Who lives in a worktree. Whoever only passes through, as every git command of a watcher does, is let go on.
fn who_stays_in(path: &Path) -> Vec<LivingProcess> {
    let watch = Stopwatch::start();
    loop {
        let inhabitants = process::living_in(path);
        if inhabitants.is_empty() || watch.remaining(PASSING).is_zero() {
            return inhabitants;
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

fn store_patiently(request: &RescueRequest<'_>) -> Result<Option<Rescue>, WorktreeError> {
    match rescue::store_if_needed(request) {
        Err(RescueError::Git(_)) => {
            let _lock = RepositoryLock::wait(&request.repo.common_dir)?;
            Ok(rescue::store_if_needed(request)?)
        }
        answer => Ok(answer?),
    }
}

fn delete_branch(repo: &Repo, branch: &BranchName) -> Result<Result<(), GitError>, WorktreeError> {
    let _lock = RepositoryLock::wait(&repo.common_dir)?;
    Ok(repo.git().delete_branch(branch))
}

fn end(inhabitants: Vec<LivingProcess>) -> Result<Vec<LivingProcess>, WorktreeError> {
    let survivors = process::end(&inhabitants);
    if survivors.is_empty() { Ok(inhabitants) } else { Err(inhabited(&survivors)) }
}

fn inhabited(processes: &[LivingProcess]) -> WorktreeError {
    let shown = processes.iter().map(|process| format!("{} (pid {})", process.command_line, process.pid));
    WorktreeError::Inhabited { processes: shown.collect() }
}

/// The branch that goes with the worktree, if one may.
fn leaving_branch(
    repo: &Repo,
    listed: &[git::Worktree],
    row: &Worktree,
    branch: Option<&BranchName>,
    options: RemoveOptions,
) -> Result<(Option<BranchName>, Vec<String>), WorktreeError> {
    let Some(branch) = branch.filter(|_| options.delete_branch) else { return Ok((None, Vec::new())) };
    let kept = |why: &str| Ok((None, vec![format!("branch '{branch}' was kept: {why}")]));
    if repo.git().find_default_branch()?.as_ref() == Some(branch) {
        return kept("it is the default branch");
    }
    if listed.iter().any(|entry| entry.path != row.path && entry.branch() == Some(branch)) {
        return kept("it is checked out elsewhere");
    }
    Ok((Some(branch.clone()), Vec::new()))
}
