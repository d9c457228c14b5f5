//! Going back to a session that runs.

use paw_core::SessionStatus;

use super::{LifecycleError, Session};

impl Session {
    /// Puts the user's terminal into the session. One that is paused or stopped has to be brought back first.
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
