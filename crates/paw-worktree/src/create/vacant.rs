//! What a worktree whose directory is gone still holds: its branch and its place. Both are free again once git has
//! forgotten it, and what only git's record holds is stored before that.

use paw_host::git::{self, BranchState};
use paw_host::locks::WorktreesLock;

use super::{BranchRule, Order};
use crate::error::WorktreeError;
use crate::service::{Worktrees, repository_name};

impl Worktrees {
    pub(super) fn free_branch(
        &self,
        order: &Order,
        state: BranchState,
        lock: &WorktreesLock,
    ) -> Result<BranchState, WorktreeError> {
        let gone = state.checked_out_at.as_ref().is_some_and(|place| !place.exists());
        if !gone || order.rule == BranchRule::New {
            return Ok(state);
        }
        self.retire_all(order, &order.repo.git().worktrees()?, lock)?;
        Ok(order.repo.git().branch_state(&order.branch, &order.repo.common_dir)?)
    }

    /// Nothing is at the place of the order, but git may have a record of somebody who was.
    pub(super) fn free_place(&self, order: &Order, lock: &WorktreesLock) -> Result<(), WorktreeError> {
        let Some(admin_dir) = git::find_admin_dir(&order.repo.common_dir, &order.path) else {
            return Ok(());
        };
        if let Ok(reason) = std::fs::read_to_string(admin_dir.join("locked")) {
            let reason = reason.trim().to_owned();
            return Err(WorktreeError::PlaceLocked { path: order.path.clone(), reason });
        }
        self.retire_all(order, &order.repo.git().worktrees()?, lock)
    }

    fn retire_all(
        &self,
        order: &Order,
        listed: &[git::Worktree],
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        let rows = self.registry.rows(Some(&repository_name(&order.repo.common_dir)))?;
        self.retire_missing(&rows, listed, &order.repo, lock)
    }
}
