//! Attaches the user's terminal to a running session.

use paw_core::{AgentId, PawError, SessionStatus};
use paw_host::tmux::TmuxCommand;

use super::{LifecycleError, Session};

impl Session {
    /// Attaches the terminal. Fails for a paused or stopped session, which `git paw start` resumes.
    pub fn attach(&self) -> Result<(), LifecycleError> {
        Ok(self.tmux.attach_target(&self.require_active()?)?)
    }

    /// Shows the pane of an agent, zoomed, and attaches the terminal.
    pub fn attach_to(&self, agent: &AgentId) -> Result<(), LifecycleError> {
        let target = self.require_active()?;
        self.focus(agent)?;
        Ok(self.tmux.attach_target(&target)?)
    }

    /// Makes the pane of an agent the active one of its session, and zooms it.
    pub fn focus(&self, agent: &AgentId) -> Result<(), LifecycleError> {
        let window = self.find_window()?;
        let pane = window.as_ref().and_then(|window| window.find_pane(agent.as_str()));
        let Some(pane) = pane else {
            let problem = PawError::SessionError(format!("{agent} has no pane"));
            return Err(problem.hint("run 'git paw start' to restore it").into());
        };
        let id = &pane.id;
        let zoom = format!("select-window -t '{id}' ; select-pane -t '{id}' ; resize-pane -Z -t '{id}'");
        let show = format!("select-window -t '{id}'");
        // Zooming is a toggle, and a window with a single pane cannot be zoomed.
        let is_shown = "#{||:#{&&:#{window_zoomed_flag},#{pane_active}},#{==:#{window_panes},1}}";
        self.tmux.run(&TmuxCommand::new("if-shell").args(["-F", "-t", id, is_shown, &show, &zoom]))?;
        Ok(())
    }

    /// The tmux target of the running session.
    fn require_active(&self) -> Result<String, LifecycleError> {
        match self.state()? {
            (SessionStatus::Active, Some(window)) => Ok(window.session),
            (status, _) => {
                Err(LifecycleError::NotRunning { session: self.receipt.session_name.clone(), status })
            }
        }
    }
}
