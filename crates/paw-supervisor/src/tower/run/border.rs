//! What an agent is doing, in the border of its pane.

use paw_agent::state::State;
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::panes::STATE;

/// What the border says, as far as we have put it there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Border(Option<(String, &'static str)>);

impl Border {
    /// Says it, if it says something else. A pane that is gone meanwhile needs no border.
    pub(super) fn show(&mut self, tmux: &Tmux, pane: Option<&str>, state: &State) {
        let Some(pane) = pane.filter(|pane| !self.says(pane, state)) else { return };
        let text = state.name().replace('_', " ");
        let said = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-t", pane, STATE, &text]));
        self.0 = said.ok().map(|_| (pane.to_owned(), state.name()));
    }

    fn says(&self, pane: &str, state: &State) -> bool {
        self.0.as_ref().is_some_and(|(place, name)| place == pane && *name == state.name())
    }

    pub(super) fn clear(&mut self, tmux: &Tmux, pane: Option<&str>) {
        if let (Some(_), Some(pane)) = (self.0.take(), pane) {
            let _ = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-u", "-t", pane, STATE]));
        }
    }
}
