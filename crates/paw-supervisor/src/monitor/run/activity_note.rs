//! Notes an agent's state at its pane, so that commands know it without reading screens or messages.

use jiff::Timestamp;
use paw_agent::state::ObservedState;
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::lifecycle::window::PaneActivity;
use paw_session::panes::ACTIVITY;

use crate::sweep::observe;

/// The state last noted, and the pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ActivityNote(Option<(String, PaneActivity)>);

impl ActivityNote {
    /// Updates the pane if the state changed. A pane that was closed meanwhile is ignored.
    pub(super) fn update(&mut self, tmux: &Tmux, pane: Option<&str>, known: &ObservedState) {
        let Some(pane) = pane else { return };
        let seen = observe(known, Timestamp::UNIX_EPOCH);
        let need = seen.state.is_stuck().then(|| seen.waits_for.unwrap_or(seen.reason));
        let activity = PaneActivity { state: seen.state, since: seen.since, need };
        let noted = Some((pane.to_owned(), activity));
        if self.0 != noted {
            let text = noted.as_ref().map(|(_, activity)| activity.to_string()).unwrap_or_default();
            let set = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-t", pane, ACTIVITY, &text]));
            self.0 = set.ok().and(noted);
        }
    }
}
