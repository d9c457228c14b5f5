//! Which of a session's branches hold commits that the default branch does not have.

use paw_core::BranchName;
use paw_host::git::Git;

use super::{LifecycleError, Session};

/// A branch with work that exists nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    pub branch: BranchName,
    pub commits: u64,
}

impl Session {
    /// In the order of the agents. A branch that is gone holds nothing.
    pub fn find_unmerged(&self) -> Result<Vec<Unmerged>, LifecycleError> {
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
            found.push(Unmerged { branch: agent.branch.clone(), commits: count.parse().unwrap_or_default() });
        }
        Ok(found)
    }
}

/// Whether a branch is the only one that leads to some commit.
pub(super) fn holds_own_commits(git: &Git, branch: &BranchName) -> Result<bool, LifecycleError> {
    let others = format!("--exclude={branch}");
    let args =
        ["rev-list", "--max-count=1", &branch.full_ref(), "--not", &others, "--branches", "--remotes", "--"];
    Ok(!git.line(args)?.is_empty())
}
