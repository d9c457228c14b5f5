//! Stops a session: ends all of its processes and keeps the worktrees and the receipt.

use paw_core::SessionStatus;
use paw_host::tmux::{Batch, TmuxCommand};

use super::window::TmuxWindow;
use super::{LifecycleError, Session};
use crate::briefing;
use crate::conversations;
use crate::panes;
use crate::session_process;

impl Session {
    /// Stops the session. `own_pane` is the pane this process runs in; if it belongs to the session, it is closed last.
    /// Returns warnings.
    pub fn stop(&self, own_pane: Option<&str>) -> Result<Vec<String>, LifecycleError> {
        let window = self.find_window()?;
        let inside = window.as_ref().is_some_and(|window| window.contains(own_pane));
        self.end_processes(window.as_ref(), own_pane)?;
        let warnings = self.strip_briefing()?;
        self.change(|receipt| {
            conversations::record(&self.repo.common_dir, receipt);
            receipt.status = SessionStatus::Stopped;
        })?;
        if let Some(window) = window.filter(|_| inside) {
            self.tmux.kill_target(&window.session)?;
        }
        Ok(warnings)
    }

    /// Ends the session's process, also without tmux, then closes all panes except `own_pane`.
    pub(super) fn end_processes(
        &self,
        window: Option<&TmuxWindow>,
        own_pane: Option<&str>,
    ) -> Result<(), LifecycleError> {
        session_process::end(&self.repo);
        let Some(window) = window else { return Ok(()) };
        let _ = self.tmux.run(&panes::restore_size(&self.receipt.session_name));
        if window.contains(own_pane) {
            let others = window.panes.iter().filter(|pane| Some(pane.id.as_str()) != own_pane);
            let batch: Batch =
                others.map(|pane| TmuxCommand::new("kill-pane").args(["-t", &pane.id])).collect();
            self.tmux.run_batch(&batch)?;
        } else {
            self.tmux.kill_target(&window.session)?;
        }
        Ok(())
    }

    /// Removes our text from the briefing files of the main checkout.
    pub(super) fn strip_briefing(&self) -> Result<Vec<String>, LifecycleError> {
        Ok(briefing::remove(&self.repo, &self.repo.root)?.warnings)
    }
}
