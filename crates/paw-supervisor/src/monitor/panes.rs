//! Captures all panes of a session with one or two tmux commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paw_agent::deliver::PaneSnapshot;
use paw_agent::screen::Screen;
use paw_core::{AgentId, Receipt};
use paw_host::tmux::{Tmux, TmuxCommand, TmuxError};
use paw_session::panes::{MARK, SESSION_MARK};

/// The panes of a session by agent, and when one of them was last drawn to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PaneList {
    panes: BTreeMap<String, String>,
    /// Panes without an agent mark, by directory.
    others: BTreeMap<PathBuf, String>,
    /// In seconds of the wall clock, as tmux reports it.
    pub(super) activity: i64,
}

impl PaneList {
    /// The pane of an agent: the one marked with its id, else one in its worktree.
    pub(crate) fn find(&self, agent: &AgentId, worktree: &Path) -> Option<&str> {
        self.panes.get(agent.as_str()).or_else(|| self.others.get(worktree)).map(String::as_str)
    }

    /// `None` if the session no longer exists.
    pub(crate) fn load(tmux: &Tmux, receipt: &Receipt) -> Result<Option<Self>, TmuxError> {
        let format = format!(
            "#{{session_name}}\t#{{pane_id}}\t#{{window_activity}}\t#{{{SESSION_MARK}}}\t#{{{MARK}}}\t#{{pane_current_path}}"
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
        let [name, pane, activity, of, mark, path] = line.splitn(6, '\t').collect::<Vec<_>>()[..] else {
            continue;
        };
        let is_old = receipt.format == 0 && of.is_empty() && name == receipt.session_name.as_str();
        if of != id && !is_old {
            continue;
        }
        let seen: &mut PaneList = seen.get_or_insert_default();
        seen.activity = seen.activity.max(activity.parse().unwrap_or(0));
        if mark.is_empty() {
            seen.others.insert(path.into(), pane.to_owned());
        } else {
            seen.panes.insert(mark.to_owned(), pane.to_owned());
        }
    }
    seen
}

/// A header line for each pane, followed by as many lines as the pane is high.
const FACTS: &str = "#{pane_id} #{pane_height} #{pane_dead} #{cursor_flag} #{pane_current_command}";

/// Captures these panes at the same moment. Fails if one of them has been closed.
pub(crate) fn capture(tmux: &Tmux, panes: &[&str]) -> Result<BTreeMap<String, PaneSnapshot>, TmuxError> {
    let mut words: Vec<&str> = Vec::new();
    for pane in panes {
        words.extend([
            "display-message",
            "-p",
            "-t",
            pane,
            FACTS,
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-t",
            pane,
            ";",
        ]);
    }
    let [first, rest @ .., _] = words.as_slice() else { return Ok(BTreeMap::new()) };
    let answer = tmux.run(&TmuxCommand::new(first).args(rest.iter().copied()))?;
    parse_captures(&answer).ok_or(TmuxError::Unexpected("half of a pane".to_owned()))
}

/// A pane can show anything, so its lines are counted and never searched.
fn parse_captures(answer: &str) -> Option<BTreeMap<String, PaneSnapshot>> {
    let mut looks = BTreeMap::new();
    let mut lines = answer.split_inclusive('\n');
    while let Some(activity) = lines.next() {
        let mut activity = activity.trim_end_matches('\n').splitn(5, ' ');
        let id = activity.next().filter(|id| id.starts_with('%'))?.to_owned();
        let height: usize = activity.next()?.parse().ok()?;
        let (dead, cursor) = (activity.next()? == "1", activity.next()? == "1");
        let program = activity.next()?.to_owned();
        let mut shown = String::new();
        for _ in 0..height {
            shown.push_str(lines.next()?);
        }
        looks.insert(
            id,
            PaneSnapshot { program, dead, cursor_visible: cursor, screen: Screen::parse(&shown) },
        );
    }
    Some(looks)
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
    fn captures_are_split_by_line_count_whatever_the_panes_show() {
        let answer = "%1 3 0 1 claude\na\n%2 1 0 1 bash\n\n%2 2 1 0 my cli\nx\ny\n";
        let looks = parse_captures(answer).unwrap();
        assert_eq!(looks.len(), 2);
        assert_eq!(looks["%1"].screen, Screen::parse("a\n%2 1 0 1 bash\n\n"));
        assert_eq!(looks["%2"].program, "my cli");
        assert!(looks["%2"].dead && !looks["%2"].cursor_visible);
    }

    #[test]
    fn panes_of_another_session_with_the_same_name_are_ignored() {
        let receipt = receipt();
        let ours = receipt.session_id();
        assert_eq!(parse_panes("paw-app\t%1\t5\tother\tfeat-x\t/w\n", &receipt), None);
        let listing = format!("new\t%1\t5\t{ours}\tfeat-x\t/\nnew\t%2\t7\t{ours}\t\t/w\ty\n");
        let seen = parse_panes(&listing, &receipt).unwrap();
        let agent = |id: &str| AgentId::new(id).unwrap();
        assert_eq!(seen.activity, 7);
        assert_eq!(seen.find(&agent("feat-x"), Path::new("/elsewhere")), Some("%1"));
        assert_eq!(seen.find(&agent("feat-y"), Path::new("/w\ty")), Some("%2"));
        assert_eq!(seen.find(&agent("feat-z"), Path::new("/w")), None);
    }

    proptest! {
        #[test]
        fn parsing_tmux_output_never_panics(answer in "[%0-9a-z \n]{0,80}") {
            let _ = parse_captures(&answer);
            let _ = parse_panes(&answer, &receipt());
        }
    }
}
