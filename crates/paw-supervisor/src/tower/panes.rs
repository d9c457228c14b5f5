//! All panes of a session, seen with one or two runs of tmux however many there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paw_agent::deliver::Look;
use paw_agent::screen::Screen;
use paw_core::{AgentId, Receipt};
use paw_host::tmux::{Tmux, TmuxCommand, TmuxError, session_target};
use paw_session::panes::{MARK, SESSION_MARK};

/// Which panes there are, by whose they are, and when something was last drawn in any of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Glance {
    panes: BTreeMap<String, String>,
    /// Panes that do not say whose they are, by where they are.
    others: BTreeMap<PathBuf, String>,
    /// In seconds of the wall clock, as tmux has it.
    pub(super) activity: i64,
}

impl Glance {
    /// The pane of an agent: the one that says so, else one that is in its worktree.
    pub(crate) fn find(&self, agent: &AgentId, worktree: &Path) -> Option<&str> {
        self.panes.get(agent.as_str()).or_else(|| self.others.get(worktree)).map(String::as_str)
    }

    /// Nothing when the session is not there any more.
    pub(crate) fn take(tmux: &Tmux, receipt: &Receipt) -> Result<Option<Self>, TmuxError> {
        let format = format!(
            "#{{pane_id}}\t#{{window_activity}}\t#{{{SESSION_MARK}}}\t#{{{MARK}}}\t#{{pane_current_path}}"
        );
        let target = session_target(&receipt.session_name);
        match tmux.run(&TmuxCommand::new("list-panes").args(["-s", "-t", &target, "-F", &format])) {
            Ok(listing) => Ok(glance(&listing, &receipt.session_id())),
            Err(TmuxError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn glance(listing: &str, session: &str) -> Option<Glance> {
    let mut seen = Glance::default();
    for line in listing.lines() {
        let [id, activity, of, mark, path] = line.splitn(5, '\t').collect::<Vec<_>>()[..] else { continue };
        if !of.is_empty() && of != session {
            return None;
        }
        seen.activity = seen.activity.max(activity.parse().unwrap_or(0));
        if mark.is_empty() {
            seen.others.insert(path.into(), id.to_owned());
        } else {
            seen.panes.insert(mark.to_owned(), id.to_owned());
        }
    }
    Some(seen)
}

/// How a pane is, and in the next lines what it shows: as many as it is high.
const FACTS: &str = "#{pane_id} #{pane_height} #{pane_dead} #{cursor_flag} #{pane_current_command}";

/// Looks at each of these panes at the same moment. One that is gone meanwhile makes it fail.
pub(crate) fn look(tmux: &Tmux, panes: &[&str]) -> Result<BTreeMap<String, Look>, TmuxError> {
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
    looks(&answer).ok_or(TmuxError::Unexpected("half of a pane".to_owned()))
}

/// What a pane shows can look like anything, so its lines are counted, never searched.
fn looks(answer: &str) -> Option<BTreeMap<String, Look>> {
    let mut looks = BTreeMap::new();
    let mut lines = answer.split_inclusive('\n');
    while let Some(facts) = lines.next() {
        let mut facts = facts.trim_end_matches('\n').splitn(5, ' ');
        let id = facts.next().filter(|id| id.starts_with('%'))?.to_owned();
        let height: usize = facts.next()?.parse().ok()?;
        let (dead, cursor) = (facts.next()? == "1", facts.next()? == "1");
        let program = facts.next()?.to_owned();
        let mut shown = String::new();
        for _ in 0..height {
            shown.push_str(lines.next()?);
        }
        looks.insert(id, Look { program, dead, cursor_visible: cursor, screen: Screen::parse(&shown) });
    }
    Some(looks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn panes_are_told_apart_whatever_they_show() {
        let answer = "%1 3 0 1 claude\na\n%2 1 0 1 bash\n\n%2 2 1 0 my cli\nx\ny\n";
        let looks = looks(answer).unwrap();
        assert_eq!(looks.len(), 2);
        assert_eq!(looks["%1"].screen, Screen::parse("a\n%2 1 0 1 bash\n\n"));
        assert_eq!(looks["%2"].program, "my cli");
        assert!(looks["%2"].dead && !looks["%2"].cursor_visible);
    }

    #[test]
    fn a_session_that_only_has_the_name_is_not_looked_at() {
        assert_eq!(glance("%1\t5\tother\tfeat-x\t/w\n", "ours"), None);
        let seen = glance("%1\t5\tours\tfeat-x\t/\n%2\t7\tours\t\t/w\ty\n", "ours").unwrap();
        let agent = |id: &str| AgentId::new(id).unwrap();
        assert_eq!(seen.activity, 7);
        assert_eq!(seen.find(&agent("feat-x"), Path::new("/elsewhere")), Some("%1"));
        assert_eq!(seen.find(&agent("feat-y"), Path::new("/w\ty")), Some("%2"));
        assert_eq!(seen.find(&agent("feat-z"), Path::new("/w")), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(answer in "[%0-9a-z \n]{0,80}") {
            let _ = looks(&answer);
            let _ = glance(&answer, "s");
        }
    }
}
