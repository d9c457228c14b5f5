//! The panes of a session, listed with one tmux command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use paw_core::{AgentId, Receipt};
use paw_host::tmux::{Tmux, TmuxCommand, TmuxError};
use paw_session::lifecycle::window::PaneActivity;
use paw_session::panes::{ACTIVITY, MARK, SESSION_MARK};
use paw_view::AgentState;

/// The panes of a session by agent, and when one of them was last drawn to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PaneList {
    panes: BTreeMap<String, String>,
    /// Panes without an agent mark, by directory.
    others: BTreeMap<PathBuf, String>,
    /// Agents whose CLI has been seen in its pane, by this or an earlier process.
    seen: BTreeSet<String>,
    /// In seconds of the wall clock, as tmux reports it.
    pub(super) activity: i64,
    /// The tmux target of the session.
    pub(super) session: String,
}

impl PaneList {
    /// The pane of an agent: the one marked with its id, else one in its worktree.
    pub(crate) fn find(&self, agent: &AgentId, worktree: &Path) -> Option<&str> {
        self.panes.get(agent.as_str()).or_else(|| self.others.get(worktree)).map(String::as_str)
    }

    /// Whether the agent's CLI has been seen in its pane before.
    pub(super) fn has_seen(&self, agent: &AgentId) -> bool {
        self.seen.contains(agent.as_str())
    }

    /// `None` if the session no longer exists.
    pub(crate) fn load(tmux: &Tmux, receipt: &Receipt) -> Result<Option<Self>, TmuxError> {
        let format = format!(
            "#{{session_id}}\t#{{session_name}}\t#{{pane_id}}\t#{{window_activity}}\t#{{{SESSION_MARK}}}\t#{{{MARK}}}\t#{{{ACTIVITY}}}\t#{{pane_current_path}}"
        );
        match tmux.run(&TmuxCommand::new("list-panes").args(["-a", "-F", &format])) {
            Ok(listing) => Ok(parse_panes(&listing, receipt)),
            Err(TmuxError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The panes with the session's mark; sessions of receipt format 0 have none and are known by their name.
fn parse_panes(listing: &str, receipt: &Receipt) -> Option<PaneList> {
    let id = receipt.session_id();
    let mut seen = None;
    for line in listing.lines() {
        let [session, name, pane, activity, of, mark, noted, path] =
            line.splitn(8, '\t').collect::<Vec<_>>()[..]
        else {
            continue;
        };
        let is_old = receipt.format == 0 && of.is_empty() && name == receipt.session_name.as_str();
        if of != id && !is_old {
            continue;
        }
        let seen: &mut PaneList = seen.get_or_insert_default();
        seen.session = format!("{session}:");
        seen.activity = seen.activity.max(activity.parse().unwrap_or(0));
        if mark.is_empty() {
            seen.others.insert(path.into(), pane.to_owned());
        } else {
            seen.panes.insert(mark.to_owned(), pane.to_owned());
        }
        // An earlier monitor has noted what it saw. A CLI that was starting may still appear.
        let state = PaneActivity::parse(noted).map(|noted| noted.state);
        if state.is_some_and(|state| !matches!(state, AgentState::Starting | AgentState::Unknown)) {
            seen.seen.insert(mark.to_owned());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receipt() -> Receipt {
        let name = paw_core::SessionName::new("paw-app").unwrap();
        Receipt::new(name, "/app".into(), "app", jiff::Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn panes_of_another_session_with_the_same_name_are_ignored() {
        let receipt = receipt();
        let ours = receipt.session_id();
        assert_eq!(parse_panes("$1\tpaw-app\t%1\t5\tother\tfeat-x\t\t/w\n", &receipt), None);
        let listing = format!("$1\tnew\t%1\t5\t{ours}\tfeat-x\t\t/\n$1\tnew\t%2\t7\t{ours}\t\t\t/w\ty\n");
        let seen = parse_panes(&listing, &receipt).unwrap();
        let agent = |id: &str| AgentId::new(id).unwrap();
        assert_eq!(seen.activity, 7);
        assert_eq!(seen.find(&agent("feat-x"), Path::new("/elsewhere")), Some("%1"));
        assert_eq!(seen.find(&agent("feat-y"), Path::new("/w\ty")), Some("%2"));
        assert_eq!(seen.find(&agent("feat-z"), Path::new("/w")), None);
    }

    #[test]
    fn a_noted_state_tells_whether_a_cli_has_been_seen_in_its_pane() {
        let receipt = receipt();
        let noted =
            [("a", ""), ("b", "starting 9"), ("c", "exited 9"), ("d", "waiting_approval 9 make deploy")];
        let row = |(agent, noted)| format!("$1\tx\t%1\t5\t{}\t{agent}\t{noted}\t/\n", receipt.session_id());
        let panes = parse_panes(&noted.map(row).concat(), &receipt).unwrap();
        let seen = noted.map(|(agent, _)| panes.has_seen(&AgentId::new(agent).unwrap()));
        assert_eq!(seen, [false, false, true, true]);
    }

    proptest! {
        #[test]
        fn parsing_tmux_output_never_panics(answer in "[%0-9a-z \n]{0,80}") {
            let _ = parse_panes(&answer, &receipt());
        }
    }
}
