//! Notes an agent's state at its pane, so that `git paw status` knows it without reading screens or messages.

use jiff::Timestamp;
use paw_agent::state::ObservedState;
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::panes::ACTIVITY;

/// The state last noted, and the pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PaneActivity(Option<(String, &'static str, Timestamp)>);

impl PaneActivity {
    /// Updates the pane if the state changed. A pane that was closed meanwhile is ignored.
    pub(super) fn note(&mut self, tmux: &Tmux, pane: Option<&str>, known: &ObservedState) {
        let Some(pane) = pane else { return };
        let noted = Some((pane.to_owned(), known.state.name(), known.since));
        if self.0 != noted {
            let text = format!("{} {}", known.state.name(), known.since.as_second());
            let set = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-t", pane, ACTIVITY, &text]));
            self.0 = set.ok().and(noted);
        }
    }
}
