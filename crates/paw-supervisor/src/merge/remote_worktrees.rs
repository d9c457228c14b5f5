//! Branches whose worktrees are on other machines. What is done with a local worktree is done there.

use std::fmt::Debug;

use paw_core::BranchName;
use paw_worktree::advance::AdvanceResult;

/// The worktrees on other machines.
pub trait RemoteWorktrees: Debug {
    fn has(&self, branch: &BranchName) -> bool;

    /// Brings the commits of a branch to this machine.
    fn fetch(&self, branch: &BranchName) -> Result<(), String>;

    /// Gives the agent of a branch a prompt, or a message if it is busy.
    fn tell(&self, branch: &BranchName, text: &str) -> Result<(), String>;

    /// Why a branch cannot be rebased now, if so. The error says why its machine does not answer.
    fn find_obstacle(&self, branch: &BranchName) -> Result<Option<String>, String>;

    /// Moves a branch there from one commit to its rebased one. The old tip is saved there first.
    fn move_branch(&self, branch: &BranchName, change: (&str, &str)) -> Result<AdvanceResult, String>;

    /// Brings the merged commits to all machines, before messages ask the agents there to use them. Returns notes for the user.
    fn push_base(&self, base: &BranchName) -> Vec<String>;
}
