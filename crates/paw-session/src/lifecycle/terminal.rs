//! The pane of an agent, for programs: what it shows, and a connection to it.

use paw_core::AgentId;
use paw_host::process::Exit;
use paw_host::tmux::TmuxCommand;

use super::window::TmuxWindow;
use super::{LifecycleError, Session};
use crate::panes::TAKEN;

/// The hidden command that connects the page to the pane of an agent on another machine.
pub const TERMINAL_COMMAND: &str = "__terminal";

impl Session {
    /// What the pane of an agent shows.
    pub fn pane_text(&self, agent: &AgentId) -> Result<String, LifecycleError> {
        let (_, pane) = self.require_pane(agent)?;
        Ok(self.tmux.capture_pane(&pane)?)
    }

    /// Connects standard input and output to the session, in control mode, until either ends. If the pane was taken over under
    /// the name `holder` by then, releases it: the other side may be gone.
    pub fn connect_terminal(&self, agent: &AgentId, holder: &str) -> Result<Exit, LifecycleError> {
        let (window, pane) = self.require_pane(agent)?;
        let ended = self.tmux.inherit_control(&window.session);
        let is_held = format!("#{{==:#{{{TAKEN}}},{holder}}}");
        let release = format!("set-option -p -u -t '{pane}' {TAKEN}");
        let release = TmuxCommand::new("if-shell").args(["-F", "-t", &pane, &is_held, &release]);
        // Without the pane there is nothing to release.
        let _ = self.tmux.run(&release);
        Ok(ended?)
    }

    fn require_pane(&self, agent: &AgentId) -> Result<(TmuxWindow, String), LifecycleError> {
        let window = self.find_window()?;
        let found = window.and_then(|window| {
            let pane = window.find_pane(agent.as_str())?.id.clone();
            Some((window, pane))
        });
        found.ok_or_else(|| LifecycleError::NoPane(agent.clone()))
    }
}
