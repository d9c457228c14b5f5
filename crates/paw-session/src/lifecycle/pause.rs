//! Pausing: nobody looks, the broker is down, the agents go on.

use paw_core::SessionStatus;
use paw_host::tmux::{TmuxCommand, TmuxError, session_target};

use super::{LifecycleError, Session, broker};
use crate::conversations;

/// What a pause has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paused {
    Now,
    /// It was paused before.
    Already,
    /// There is nothing running that could be paused.
    NotRunning,
}

impl Session {
    /// Ends the dashboard with its broker and sends every terminal away. The dashboard's pane stays where it is, with
    /// a shell in it, so that no other pane moves.
    pub fn pause(&self) -> Result<Paused, LifecycleError> {
        match self.state()?.0 {
            SessionStatus::Active => {}
            SessionStatus::Paused => return Ok(Paused::Already),
            SessionStatus::Stopped => return Ok(Paused::NotRunning),
        }
        broker::end(&self.repo);
        let target = session_target(&self.receipt.session_name);
        match self.tmux.run(&TmuxCommand::new("detach-client").args(["-s", &target])) {
            // Nobody was attached.
            Ok(_) | Err(TmuxError::Failed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.change(|receipt| {
            conversations::keep(&self.repo.common_dir, receipt);
            receipt.status = SessionStatus::Paused;
        })?;
        Ok(Paused::Now)
    }
}
