//! Rebasing the branch that is checked out in one worktree.

use paw_core::BranchName;

use super::{Git, GitError};

impl Git {
    /// Puts the current branch on top of `onto`. When that does not work everything is as before, and the error says
    /// what git said.
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
        let mut said = output.stderr.clone();
        if said.trim_ascii().is_empty() {
            said.clone_from(&output.stdout);
        }
        // Nothing to abort when it failed before it began.
        let _ = self.output(["rebase", "--abort"])?;
        let stderr = String::from_utf8_lossy(&said).into_owned();
        Err(GitError::Failed { command: command.to_string(), exit: output.exit, stderr })
    }
}
