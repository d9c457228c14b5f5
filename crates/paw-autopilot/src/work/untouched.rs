//! Whether the branch is where we left it. Whoever works for us may change files, and nothing else.

use super::seen::head;
use super::{Work, WorkError};
use crate::engine::Event;

impl Work {
    /// Only we commit, and nobody changes the branch or pushes it meanwhile. Otherwise the run pauses where it is.
    pub fn require_untouched_head(&mut self) -> Result<(), WorkError> {
        let (branch, commit) = head(&self.site.git)?;
        let what = if branch != self.run.branch {
            let now = branch.map_or_else(|| "no branch".to_owned(), |branch| format!("'{branch}'"));
            let then = self.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{now} is checked out and not '{then}' (git switch {then})")
        } else if Some(&commit) != self.run.head.as_ref() {
            let then = self.run.head.clone().unwrap_or_default();
            format!(
                "somebody committed: {then} was the last commit of this run (git log {then}..HEAD shows what came; git reset --soft {then} takes it back and keeps the files)"
            )
        } else if let Some(remote) = self.pushed_by_somebody(&commit)? {
            format!("somebody pushed the branch to {remote}")
        } else {
            return Ok(());
        };
        self.happen(Event::HeadMoved { what: what.clone() })?;
        Err(WorkError::Paused(what))
    }

    /// A commit of ours that a remote knows before we have pushed it.
    fn pushed_by_somebody(&self, commit: &str) -> Result<Option<String>, WorkError> {
        if commit == self.notes.base || self.notes.pushed {
            return Ok(None);
        }
        let format = "--format=%(refname:short)";
        let known = self.site.git.line(["for-each-ref", format, "--contains", commit, "refs/remotes"])?;
        Ok(known.lines().next().map(str::to_owned))
    }
}
