//! Shows an agent's state, and what it waits for, in the border of its pane.

use paw_agent::state::AgentActivity;
use paw_core::text;
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::panes::{STATE, plain};
use paw_view::AgentState;

use crate::monitor::verdict;

/// The longest excerpt of a command; panes may be narrow.
const LONGEST: usize = 40;

/// The state the monitor last wrote to a pane's border.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PaneBorder(Option<(String, String)>);

impl PaneBorder {
    /// Updates the border if the state changed. A pane that was closed meanwhile is ignored.
    pub(super) fn show(&mut self, tmux: &Tmux, pane: Option<&str>, state: &AgentActivity) {
        let Some(pane) = pane else { return };
        let shown = Some((pane.to_owned(), words(state)));
        if self.0 != shown {
            let text = shown.as_ref().map(|(_, text)| plain(text)).unwrap_or_default();
            let set = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-t", pane, STATE, &text]));
            self.0 = set.ok().and(shown);
        }
    }

    pub(super) fn clear(&mut self, tmux: &Tmux, pane: Option<&str>) {
        if let (Some(_), Some(pane)) = (self.0.take(), pane) {
            let _ = tmux.run(&TmuxCommand::new("set-option").args(["-p", "-u", "-t", pane, STATE]));
        }
    }
}

fn words(state: &AgentActivity) -> String {
    match state {
        AgentActivity::WaitingApproval(ask) => {
            let what = verdict::describe(ask);
            format!("needs approval: {}", text::line(&text::truncate(&what, LONGEST)))
        }
        other => AgentState::find(other.name()).map(AgentState::word).unwrap_or_default().to_owned(),
    }
}
