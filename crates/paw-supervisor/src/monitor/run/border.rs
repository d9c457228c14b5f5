//! Shows an agent's state in the border of its pane.

use paw_agent::state::AgentActivity;
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::panes::STATE;

/// The state the monitor last wrote to a pane's border.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PaneBorder(Option<(String, &'static str)>);

impl PaneBorder {
    /// Updates the border if the state changed. A pane that was closed meanwhile is ignored.
    pub(super) fn show(&mut self, tmux: &Tmux, pane: Option<&str>, state: &AgentActivity) {
        let Some(pane) = pane.filter(|pane| !self.shows(pane, state)) else { return };
        let text = state.name().replace('_', " ");
        let set = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-t", pane, STATE, &text]));
        self.0 = set.ok().map(|_| (pane.to_owned(), state.name()));
    }

    fn shows(&self, pane: &str, state: &AgentActivity) -> bool {
        self.0.as_ref().is_some_and(|(place, name)| place == pane && *name == state.name())
    }

    pub(super) fn clear(&mut self, tmux: &Tmux, pane: Option<&str>) {
        if let (Some(_), Some(pane)) = (self.0.take(), pane) {
            let _ = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-u", "-t", pane, STATE]));
        }
    }
}
