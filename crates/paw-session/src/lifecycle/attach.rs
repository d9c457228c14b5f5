//! Attaches the user's terminal to a running session.

use paw_core::SessionStatus;

use super::{LifecycleError, Session};

impl Session {
    /// Attaches the terminal. Fails for a paused or stopped session, which `git paw start` resumes.
    pub fn attach(&self) -> Result<(), LifecycleError> {
        self.require_active()?;
        Ok(self.tmux.attach(&self.receipt.session_name)?)
    }

    fn require_active(&self) -> Result<(), LifecycleError> {
        match self.state()? {
            (SessionStatus::Active, _) => Ok(()),
            (status, _) => {
                Err(LifecycleError::NotRunning { session: self.receipt.session_name.clone(), status })
            }
        }
    }
}
