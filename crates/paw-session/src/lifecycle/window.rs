//! A session's panes, as listed by tmux in one call.

use std::fmt;

use jiff::Timestamp;
use paw_core::{Receipt, text};
use paw_host::process;
use paw_host::tmux::{Tmux, TmuxCommand, TmuxError};
use paw_view::AgentState;

use crate::panes::{ACTIVITY, MARK, SESSION_MARK};

/// A pane of a session's tmux window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowPane {
    pub id: String,
    /// The agent it belongs to, the supervisor or the dashboard; nothing for one that the user has opened.
    pub mark: Option<String>,
    pub dead: bool,
    /// The foreground program.
    pub command: String,
    pub activity: Option<PaneActivity>,
    /// The process that tmux started in the pane.
    pid: Option<u32>,
    index: PaneIndex,
}

/// An agent's state and since when, as the session's process last observed it and noted it at the pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneActivity {
    pub state: AgentState,
    pub since: Timestamp,
    /// What it needs, if it cannot continue without help.
    pub need: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PaneIndex {
    session: String,
    window: u32,
    number: u32,
}

impl PaneIndex {
    fn target(&self, after: u32) -> String {
        format!("{}{}.{}", self.session, self.window, self.number + after)
    }
}

#[cfg(test)]
impl WindowPane {
    /// A pane with a shell.
    pub(super) fn shell(mark: &str, activity: Option<PaneActivity>) -> Self {
        let index = PaneIndex { session: "$1:".to_owned(), window: 0, number: 0 };
        let (id, command, mark) = ("%1".to_owned(), "sh".to_owned(), Some(mark.to_owned()));
        Self { id, mark, dead: false, command, activity, pid: None, index }
    }
}

impl WindowPane {
    /// The tmux target of this pane's place, and of a pane that is split off before it.
    pub fn target(&self) -> String {
        self.index.target(0)
    }

    /// The tmux target of a pane that is split off after this one.
    pub fn next_target(&self) -> String {
        self.index.target(1)
    }

    /// Whether only a shell is running in it.
    pub fn is_idle(&self) -> bool {
        let is_shell = paw_agent::deliver::is_shell(&self.command);
        self.dead || (is_shell && self.pid.and_then(process::find_foreground_script).is_none())
    }
}

/// The panes of a running session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TmuxWindow {
    /// In tmux's order.
    pub panes: Vec<WindowPane>,
    /// When the tmux session was created.
    pub created: Option<Timestamp>,
    /// The tmux session, whatever its name is now.
    pub session: String,
}

impl TmuxWindow {
    /// The window of exactly this session, known by its mark. `None` if tmux has no such session.
    pub fn find(tmux: &Tmux, receipt: &Receipt) -> Result<Option<Self>, TmuxError> {
        let format = format!(
            "#{{session_id}}\t#{{session_name}}\t#{{pane_id}}\t#{{window_index}}\t#{{pane_index}}\t#{{pane_dead}}\t#{{pane_pid}}\t#{{session_created}}\t#{{{SESSION_MARK}}}\t#{{{MARK}}}\t#{{{ACTIVITY}}}\t#{{pane_current_command}}"
        );
        let list = TmuxCommand::new("list-panes").args(["-a", "-F", &format]);
        let listing = match tmux.run(&list) {
            Ok(listing) => listing,
            // The tmux server does not exist.
            Err(TmuxError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(parse(&listing, receipt))
    }

    /// The tmux target of a new window after all others.
    pub fn next_window(&self) -> String {
        let last = self.panes.iter().map(|pane| pane.index.window).max().unwrap_or_default();
        format!("{}{}", self.session, last + 1)
    }

    pub fn find_pane(&self, mark: &str) -> Option<&WindowPane> {
        self.panes.iter().find(|pane| pane.mark.as_deref() == Some(mark))
    }

    /// Whether `own_pane` is one of the panes, so that this process would end with the session.
    pub fn contains(&self, own_pane: Option<&str>) -> bool {
        own_pane.is_some_and(|own| self.panes.iter().any(|pane| pane.id == own))
    }
}

fn parse(listing: &str, receipt: &Receipt) -> Option<TmuxWindow> {
    let mut window = TmuxWindow::default();
    for line in listing.lines() {
        // The program comes last because its name may contain a tab.
        let row: Vec<&str> = line.splitn(12, '\t').collect();
        let [session, name, id, index, number, dead, pid, created, of, mark, activity, command] = row[..]
        else {
            continue;
        };
        // Sessions of receipt format 0 have no mark.
        let is_old = receipt.format == 0 && of.is_empty() && name == receipt.session_name.as_str();
        if of != receipt.session_id() && !is_old {
            continue;
        }
        let (Ok(index), Ok(number)) = (index.parse(), number.parse()) else { continue };
        window.session = format!("{session}:");
        window.created = created.parse().ok().and_then(|second| Timestamp::from_second(second).ok());
        window.panes.push(WindowPane {
            id: id.to_owned(),
            mark: (!mark.is_empty()).then(|| mark.to_owned()),
            dead: dead == "1",
            command: command.to_owned(),
            activity: PaneActivity::parse(activity),
            pid: pid.parse().ok(),
            index: PaneIndex { session: window.session.clone(), window: index, number },
        });
    }
    (!window.panes.is_empty()).then_some(window)
}

/// The longest text about what an agent needs.
const LONGEST_NEED: usize = 1000;

impl PaneActivity {
    /// `waiting_approval 1763287200 make deploy`
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let (state, second) = (words.next()?, words.next()?);
        Some(Self {
            state: AgentState::find(state)?,
            since: Timestamp::from_second(second.parse().ok()?).ok()?,
            need: words.next().map(str::to_owned),
        })
    }
}

impl fmt::Display for PaneActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.state, self.since.as_second())?;
        match &self.need {
            Some(need) => write!(f, " {}", text::line(&text::truncate(need, LONGEST_NEED))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_core::SessionName;
    use proptest::prelude::*;

    use super::*;

    fn receipt() -> Receipt {
        let name = SessionName::new("paw-app").unwrap();
        Receipt::new(name, "/app".into(), "app", Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn window_finds_panes_by_their_mark() {
        let receipt = receipt();
        let id = receipt.session_id();
        let listing = format!(
            "$4\trenamed\t%1\t0\t0\t0\t\t7\t{id}\tdashboard\t\tgit-paw\n\
             $4\trenamed\t%2\t0\t1\t1\t\t7\t{id}\tfeat-x\twaiting_input 9\ta\tb\n\
             $5\tother\t%3\t0\t0\t0\t\t7\tother\tfeat-x\t\ta\n\
             $4\trenamed\t%9\t0\t2\t0\t\t7\t{id}\t\t\t-bash\n"
        );
        let window = parse(&listing, &receipt).unwrap();
        assert_eq!(window.find_pane("feat-x").map(|pane| (pane.id.as_str(), pane.dead)), Some(("%2", true)));
        assert_eq!(
            (window.panes[1].target(), window.panes[1].next_target()),
            ("$4:0.1".into(), "$4:0.2".into())
        );
        assert_eq!(window.next_window(), "$4:1");
        let since = Timestamp::from_second(9).unwrap();
        let activity = PaneActivity { state: AgentState::WaitingInput, since, need: None };
        assert_eq!(window.panes[1].activity, Some(activity));
        assert_eq!(window.find_pane("unknown"), None);
        assert_eq!(window.created, Timestamp::from_second(7).ok());
        assert!(!window.panes[0].is_idle() && window.panes[1].is_idle() && window.panes[2].is_idle());
        assert!(window.contains(Some("%9")) && !window.contains(Some("%3")) && !window.contains(None));
    }

    #[test]
    fn noted_activity_is_read_back_on_one_line() {
        let state = AgentState::WaitingApproval;
        let since = Timestamp::from_second(9).unwrap();
        let noted = |need: &str| PaneActivity { state, since, need: Some(need.to_owned()) };
        let parse = |activity: &PaneActivity| PaneActivity::parse(&activity.to_string()).unwrap();
        assert_eq!(parse(&noted("make deploy && rm -r build")), noted("make deploy && rm -r build"));
        let other = PaneActivity { need: None, ..noted("") };
        assert_eq!(parse(&other), other);
        let hostile = noted(&format!("a\tb\nc\u{1b}[31m{}", "x".repeat(5000))).to_string();
        assert!(!hostile.contains(|letter: char| letter.is_control()) && hostile.len() < 1200, "{hostile}");
    }

    #[test]
    fn window_of_another_session_with_the_same_name_is_ignored() {
        assert_eq!(
            parse("$1\tpaw-app\t%1\t0\t0\t0\t\t7\tpaw-app@other\tfeat-x\t\tclaude\n", &receipt()),
            None
        );
        assert_eq!(parse("$1\tpaw-app\t%1\t0\t0\t0\t\t7\t\t\t\tbash\n", &receipt()), None);
        let old = Receipt { format: 0, ..receipt() };
        assert!(parse("$1\tpaw-app\t%1\t0\t0\t0\t\t7\t\t\t\tbash\n", &old).is_some());
    }

    proptest! {
        #[test]
        fn parsing_a_tmux_listing_never_panics(listing in "[$%0-9\ta-z\n]{0,80}") {
            let _ = parse(&listing, &receipt());
        }
    }
}
