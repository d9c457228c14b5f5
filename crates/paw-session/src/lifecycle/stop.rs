//! Stopping: every process of the session ends; worktrees and the receipt stay.

use paw_core::SessionStatus;
use paw_host::tmux::{Batch, TmuxCommand};

use super::window::Seen;
use super::{LifecycleError, Session, broker};
use crate::briefing;
use crate::conversations;

impl Session {
    /// Ends the session. `own_pane` is the pane this process runs in: when it is one of the session's, it ends last.
    /// Returns warnings for the user.
    pub fn stop(&self, own_pane: Option<&str>) -> Result<Vec<String>, LifecycleError> {
        let seen = self.look()?;
        let inside = seen.as_ref().is_some_and(|seen| seen.holds(own_pane));
        if let Some(seen) = &seen {
            self.end_panes(seen, own_pane)?;
        }
        let warnings = self.strip_briefing()?;
        self.change(|receipt| {
            conversations::keep(&self.repo.common_dir, receipt);
            receipt.status = SessionStatus::Stopped;
        })?;
        if inside {
            self.tmux.kill_session(&self.receipt.session_name)?;
        }
        Ok(warnings)
    }

    /// Ends the broker, then everything in the panes. From inside, the own pane is left for later.
    pub(super) fn end_panes(&self, seen: &Seen, own_pane: Option<&str>) -> Result<(), LifecycleError> {
        broker::end(&self.repo);
        if seen.holds(own_pane) {
            let others = seen.panes.iter().filter(|pane| Some(pane.id.as_str()) != own_pane);
            let batch: Batch =
                others.map(|pane| TmuxCommand::new("kill-pane").args(["-t", &pane.id])).collect();
            self.tmux.run_batch(&batch)?;
        } else {
            self.tmux.kill_session(&self.receipt.session_name)?;
        }
        Ok(())
    }

    /// Takes our part out of the main checkout's AGENTS.md and what lies beside it.
    pub(super) fn strip_briefing(&self) -> Result<Vec<String>, LifecycleError> {
        Ok(briefing::remove(&self.repo, &self.repo.root)?.warnings)
    }
}
