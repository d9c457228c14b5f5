//! What a worktree whose directory is gone still holds: its branch and its place. Both are free again once git has
//! forgotten it, and what only git's record holds is stored before that.

use paw_host::git::{self, BranchState};
use paw_host::locks::WorktreesLock;

use super::{BranchRule, CreatePlan};
use crate::error::WorktreeError;
use crate::service::{Worktrees, repository_path};

impl Worktrees {
    pub(super) fn release_stale_branch(
        &self,
        plan: &CreatePlan,
        state: BranchState,
        lock: &WorktreesLock,
    ) -> Result<BranchState, WorktreeError> {
        let gone = state.checked_out_at.as_ref().is_some_and(|place| !place.exists());
        if !gone || plan.rule == BranchRule::New {
            return Ok(state);
        }
        self.retire_missing_worktrees(plan, &plan.repo.git().worktrees()?, lock)?;
        Ok(plan.repo.git().branch_state(&plan.branch, &plan.repo.common_dir)?)
    }

    /// Nothing is at the place of the plan, but git may have a record of somebody who was.
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
        let rows = self.registry.rows(Some(&repository_path(&plan.repo.common_dir)))?;
        self.retire_missing(&rows, listed, &plan.repo, lock)
    }
}
