//! Pauses a session: detaches terminals and ends the broker; the agents keep running.

use paw_core::SessionStatus;
use paw_host::tmux::{TmuxCommand, TmuxError, session_target};

use super::{LifecycleError, Session, broker};
use crate::conversations;

/// The result of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseResult {
    Now,
    /// It was already paused.
    Already,
    /// The session is not running.
    NotRunning,
}

impl Session {
    /// Ends the dashboard and its broker, and detaches every terminal. The dashboard's pane stays, with a shell in it, so
    /// that no other pane moves.
    pub fn pause(&self) -> Result<PauseResult, LifecycleError> {
        match self.state()?.0 {
            SessionStatus::Active => {}
            SessionStatus::Paused => return Ok(PauseResult::Already),
            SessionStatus::Stopped => return Ok(PauseResult::NotRunning),
        }
        broker::end(&self.repo);
        let target = session_target(&self.receipt.session_name);
        match self.tmux.run(&TmuxCommand::new("detach-client").args(["-s", &target])) {
            // tmux fails if no client is attached.
            Ok(_) | Err(TmuxError::Failed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.change(|receipt| {
            conversations::record(&self.repo.common_dir, receipt);
            receipt.status = SessionStatus::Paused;
        })?;
        Ok(PauseResult::Now)
    }
}
