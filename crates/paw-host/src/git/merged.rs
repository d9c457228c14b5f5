//! Whether a branch's work has arrived in another, however it was merged.

use super::{Git, GitError, text};
use crate::git::plumbing::NewCommit;

impl Git {
    /// Whether deleting `tip` would lose nothing that `into` does not have: it is an ancestor, every commit of it was
    /// picked or rebased there, it was squashed there, or merging it would change nothing.
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
        // Work that was undone again leaves no difference, yet its commits exist nowhere else.
        let changes_something = self.line(["rev-parse", &format!("{base}^{{tree}}")])?
            != self.line(["rev-parse", &format!("{tip}^{{tree}}")])?;
        Ok(changes_something
            && (self.merging_changes_nothing(&tip, &into)? || self.was_squashed(&tip, &into, &base)?))
    }

    /// Merge commits have no patch of their own, so a branch with one is never told merged by its patches.
    fn every_commit_was_picked(&self, tip: &str, into: &str) -> Result<bool, GitError> {
        let merges = self.line(["rev-list", "--max-count=1", "--min-parents=2", tip, &format!("^{into}")])?;
        Ok(merges.is_empty() && self.line(["cherry", into, tip])?.lines().all(|line| line.starts_with("- ")))
    }

    fn merging_changes_nothing(&self, tip: &str, into: &str) -> Result<bool, GitError> {
        let merged = self.find(["merge-tree", "--write-tree", "--no-messages", into, tip])?;
        Ok(merged == self.find_object(into, "tree")?)
    }

    /// Whether a commit in `into` makes all the branch's changes at once, even if others came on top.
    fn was_squashed(&self, tip: &str, into: &str, base: &str) -> Result<bool, GitError> {
        let tree = format!("{tip}^{{tree}}");
        let tree = text(&self.plumb(None, ["rev-parse", &tree])?);
        // A fixed date makes the same question write the same object, which nothing refers to and git cleans up.
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
