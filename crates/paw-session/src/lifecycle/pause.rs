//! Pauses a session: detaches terminals and ends the session's process; the agents keep running.

use paw_core::SessionStatus;
use paw_host::tmux::{TmuxCommand, TmuxError};

use super::{LifecycleError, Session};
use crate::conversations;
use crate::session_process;

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
    /// Ends the session's process, and detaches every terminal. The dashboard closes by itself; its pane stays, with a
    /// shell in it, so that no other pane moves. The caller holds the session's lock, so that no other command restarts
    /// the process.
    pub fn pause(&self) -> Result<PauseResult, LifecycleError> {
        let window = match self.state()? {
            (SessionStatus::Active, Some(window)) => window,
            (SessionStatus::Paused, _) => {
                session_process::end(&self.repo);
                return Ok(PauseResult::Already);
            }
            (SessionStatus::Active | SessionStatus::Stopped, _) => return Ok(PauseResult::NotRunning),
        };
        session_process::end(&self.repo);
        match self.tmux.run(&TmuxCommand::new("detach-client").args(["-s", &window.session])) {
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
