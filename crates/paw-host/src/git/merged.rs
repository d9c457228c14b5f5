//! Whether a branch is merged into another: by merge, rebase, cherry-pick or squash.

use super::{Git, GitError, text};
use crate::git::plumbing::NewCommit;

impl Git {
    /// Whether `into` has all the work of `tip`: `tip` is an ancestor, all its commits were cherry-picked or rebased, it was
    /// squashed, or merging it would change nothing.
    pub fn is_merged(&self, tip: &str, into: &str) -> Result<bool, GitError> {
        let (Some(tip), Some(into)) = (self.find_object(tip, "commit")?, self.find_object(into, "commit")?)
        else {
            return Ok(false);
        };
        if self.is_ancestor(&tip, &into)? {
            return Ok(true);
        }
        let Some(base) = self.find(["merge-base", &into, &tip])? else { return Ok(false) };
        if self.every_commit_was_picked(&tip, &into)? {
            return Ok(true);
        }
        // Reverted work leaves no difference, but its commits exist nowhere else.
        let changes_something = self.line(["rev-parse", &format!("{base}^{{tree}}")])?
            != self.line(["rev-parse", &format!("{tip}^{{tree}}")])?;
        Ok(changes_something
            && (self.merging_changes_nothing(&tip, &into)? || self.was_squashed(&tip, &into, &base)?))
    }

    /// Merge commits have no patch, so a branch that contains one cannot be compared by patches.
    fn every_commit_was_picked(&self, tip: &str, into: &str) -> Result<bool, GitError> {
        let merges = self.line(["rev-list", "--max-count=1", "--min-parents=2", tip, &format!("^{into}")])?;
        Ok(merges.is_empty() && self.line(["cherry", into, tip])?.lines().all(|line| line.starts_with("- ")))
    }

    fn merging_changes_nothing(&self, tip: &str, into: &str) -> Result<bool, GitError> {
        let merged = self.find(["merge-tree", "--write-tree", "--no-messages", into, tip])?;
        Ok(merged == self.find_object(into, "tree")?)
    }

    /// Whether one commit in `into` makes all changes of the branch.
    fn was_squashed(&self, tip: &str, into: &str, base: &str) -> Result<bool, GitError> {
        let tree = format!("{tip}^{{tree}}");
        let tree = text(&self.plumb(None, ["rev-parse", &tree])?);
        // A fixed date makes the same check write the same object, which git later garbage-collects.
        let squashed = NewCommit {
            tree: &tree,
            parents: &[base.to_owned()],
            message: "squashed",
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let squashed = self.commit_tree(&squashed)?;
        Ok(self.line(["cherry", into, &squashed])?.starts_with("- "))
    }
}
