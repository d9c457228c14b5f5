//! HEAD, and whether it moved during a run. An executor may change files, but not commit.

use paw_core::BranchName;
use paw_host::git::Git;

use super::{ActiveRun, WorkError};
use crate::engine::RunEvent;

/// The current branch and commit. The commit is empty in a repository without commits.
pub fn current_head(git: &Git) -> Result<(Option<BranchName>, String), WorkError> {
    let output = git.output(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    match (output.exit.success(), lines.next(), lines.next()) {
        (true, Some(commit), Some(name)) => {
            let branch = name.strip_prefix("refs/heads/").and_then(|name| BranchName::new(name).ok());
            Ok((branch, commit.to_owned()))
        }
        _ => Ok((git.find_current_branch()?, git.find_object("HEAD", "commit")?.unwrap_or_default())),
    }
}

impl ActiveRun {
    /// Pauses the run if another process committed, switched branches or pushed.
    pub fn require_unmoved_head(&mut self) -> Result<(), WorkError> {
        let (branch, commit) = current_head(&self.context.git)?;
        let what = if branch != self.run.branch {
            let now = branch.map_or_else(|| "no branch".to_owned(), |branch| format!("'{branch}'"));
            let then = self.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{now} is checked out instead of '{then}' (git switch {then})")
        } else if Some(&commit) != self.run.head.as_ref() {
            let then = self.run.head.clone().unwrap_or_default();
            format!(
                "another process committed: {then} was the last commit of this run (git log {then}..HEAD shows the new commits; git reset --soft {then} undoes them and keeps the files)"
            )
        } else if let Some(remote) = self.find_foreign_push(&commit)? {
            format!("another process pushed the branch to {remote}")
        } else {
            self.check_guard()?;
            return Ok(());
        };
        self.apply(RunEvent::HeadMoved { what: what.clone() })?;
        Err(WorkError::Paused(what))
    }

    /// Finds a remote that has our commit before the run pushed it.
    fn find_foreign_push(&self, commit: &str) -> Result<Option<String>, WorkError> {
        if commit == self.notes.base || self.notes.pushed {
            return Ok(None);
        }
        let format = "--format=%(refname:short)";
        let known = self.context.git.line(["for-each-ref", format, "--contains", commit, "refs/remotes"])?;
        Ok(known.lines().next().map(str::to_owned))
    }
}
