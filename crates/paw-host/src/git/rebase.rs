//! Rebases the branch that is checked out in a worktree.

use paw_core::BranchName;

use super::{Git, GitError};

impl Git {
    /// Rebases the current branch onto `onto`. On failure the rebase is aborted, and the error contains git's output.
    pub fn rebase_onto(&self, onto: &BranchName) -> Result<(), GitError> {
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
            return Ok(());
        }
        let mut message = output.stderr.clone();
        if message.trim_ascii().is_empty() {
            message.clone_from(&output.stdout);
        }
        // Fails if the rebase did not even begin.
        let _ = self.output(["rebase", "--abort"])?;
        let stderr = String::from_utf8_lossy(&message).into_owned();
        Err(GitError::Failed { command: command.to_string(), exit: output.exit, stderr })
    }
}
