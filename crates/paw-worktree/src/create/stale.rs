//! Releasing the branch and the path of a stale worktree. Git reserves both until it prunes its record, which is
//! stored as a rescue first.

use paw_host::git::{self, BranchState};
use paw_host::locks::WorktreesLock;

use super::{BranchRule, CreatePlan};
use crate::error::WorktreeError;
use crate::service::{Worktrees, repository_path};

impl Worktrees {
    /// Releases the plan's branch if it is checked out in a directory that no longer exists.
    pub(super) fn release_stale_branch(
        &self,
        plan: &CreatePlan,
        state: BranchState,
        lock: &WorktreesLock,
    ) -> Result<BranchState, WorktreeError> {
        let gone = state.checked_out_at.as_ref().is_some_and(|path| !path.exists());
        if !gone || plan.rule == BranchRule::New {
            return Ok(state);
        }
        self.retire_missing_worktrees(plan, &plan.repo.git().worktrees()?, lock)?;
        Ok(plan.repo.git().branch_state(&plan.branch, &plan.repo.common_dir)?)
    }

    /// Nothing exists at the plan's path, but git may still have a record of a worktree there.
    pub(super) fn release_stale_path(
        &self,
        plan: &CreatePlan,
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        let Some(admin_dir) = git::find_admin_dir(&plan.repo.common_dir, &plan.path) else {
            return Ok(());
        };
        if let Ok(reason) = std::fs::read_to_string(admin_dir.join("locked")) {
            let reason = reason.trim().to_owned();
            return Err(WorktreeError::PathLocked { path: plan.path.clone(), reason });
        }
        self.retire_missing_worktrees(plan, &plan.repo.git().worktrees()?, lock)
    }

    fn retire_missing_worktrees(
        &self,
        plan: &CreatePlan,
        listed: &[git::GitWorktree],
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        let rows = self.registry.load_rows(Some(&repository_path(&plan.repo.common_dir)))?;
        self.retire_missing(&rows, listed, &plan.repo, lock)
    }
}
