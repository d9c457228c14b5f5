//! Rebases the branch that is checked out in a worktree.

use std::path::PathBuf;

use paw_core::BranchName;

use super::{Git, GitError, path};

/// What a rebase came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebaseOutcome {
    Done,
    /// It was aborted.
    Failed {
        /// What git printed.
        output: String,
        /// The files that git could not merge.
        conflicts: Vec<PathBuf>,
    },
}

impl Git {
    /// Rebases the current branch onto `onto`. A rebase that fails is aborted.
    pub fn rebase_onto(&self, onto: &BranchName) -> Result<RebaseOutcome, GitError> {
        let command = self.command(
            [
                "-c",
                "rebase.autoStash=false",
                "-c",
                "rebase.updateRefs=false",
                "-c",
                "advice.mergeConflict=false",
            ]
            .into_iter()
            .chain(["rebase", "--quiet"])
            .map(str::to_owned)
            .chain([onto.full_ref()]),
        );
        let output = command.capture()?;
        if output.exit.success() {
            return Ok(RebaseOutcome::Done);
        }
        let mut message = output.stderr.clone();
        if message.trim_ascii().is_empty() {
            message.clone_from(&output.stdout);
        }
        let unmerged = self.run(["diff", "--name-only", "-z", "--diff-filter=U"]).unwrap_or_default();
        let names = unmerged.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let conflicts = names.map(path).collect();
        // Fails if the rebase did not even begin.
        let _ = self.output(["rebase", "--abort"])?;
        let output = String::from_utf8_lossy(&message).trim().to_owned();
        Ok(RebaseOutcome::Failed { output, conflicts })
    }
}
