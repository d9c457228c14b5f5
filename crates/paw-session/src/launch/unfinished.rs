//! Agents whose worktree was recorded, but perhaps not created: the command was killed.

use paw_core::{AgentReceipt, PawError, Receipt};
use paw_worktree::{ManagedWorktree, WorktreeCreation, Worktrees};

/// Records the worktree that was created for an agent.
pub(crate) fn finish(agent: &mut AgentReceipt, made: &WorktreeCreation) {
    agent.worktree_path.clone_from(&made.path);
    agent.branch_created |= made.branch_created;
    agent.unfinished = false;
}

/// Reads from the registry which branches a killed command created.
pub(crate) fn record_created_branches(worktrees: &Worktrees, receipt: &mut Receipt) -> Result<(), PawError> {
    if !receipt.worktrees.iter().any(|agent| agent.unfinished) {
        return Ok(());
    }
    let rows = worktrees.list(Some(&receipt.repo_path))?.worktrees;
    for agent in receipt.worktrees.iter_mut().filter(|agent| agent.unfinished) {
        let path = agent.worktree_path.canonicalize().unwrap_or_else(|_| agent.worktree_path.clone());
        let is_made = |row: &ManagedWorktree| {
            row.path == path && row.branch == agent.branch && row.created_at >= receipt.created_at
        };
        agent.branch_created |= rows.iter().any(|row| is_made(row) && row.created_branch);
    }
    Ok(())
}
