//! Finds branches of a session with commits that are not on the default branch.

use paw_core::BranchName;
use paw_host::git::Git;

use super::{LifecycleError, Session};

/// A branch with unmerged commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedBranch {
    pub branch: BranchName,
    pub commits: u64,
}

impl Session {
    /// The unmerged branches, in the order of the agents. Skips branches that no longer exist.
    pub fn find_unmerged(&self) -> Result<Vec<UnmergedBranch>, LifecycleError> {
        let git = self.repo.git();
        let Some(main) = git.find_default_branch()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for agent in &self.receipt.worktrees {
            let (tip, into) = (agent.branch.full_ref(), main.full_ref());
            if agent.branch == main
                || !git.has_ref(&tip)?
                || !git.has_ref(&into)?
                || git.is_merged(&tip, &into)?
            {
                continue;
            }
            let count = git.line(["rev-list", "--count", &tip, &format!("^{into}"), "--"])?;
            found.push(UnmergedBranch {
                branch: agent.branch.clone(),
                commits: count.parse().unwrap_or_default(),
            });
        }
        Ok(found)
    }
}

/// Whether a branch has commits that no other branch has.
pub(super) fn holds_own_commits(git: &Git, branch: &BranchName) -> Result<bool, LifecycleError> {
    let others = format!("--exclude={branch}");
    let args =
        ["rev-list", "--max-count=1", &branch.full_ref(), "--not", &others, "--branches", "--remotes", "--"];
    Ok(!git.line(args)?.is_empty())
}
