//! Tells the user: the bell of the agent's pane, a desktop notification, a command of the user's. Quiet about a pane that the
//! user is looking at.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use paw_core::Receipt;
use paw_core::config::NotifyConfig;
use paw_core::text;
use paw_host::process::{Command, find_program};
use paw_host::tmux::{Tmux, TmuxCommand, TmuxSession};
use paw_session::panes::MARK;
use paw_session::recover::RunningSessions;

use super::notice::Notice;

/// How long a program of the user may take.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The panes of a session, and which of them the user is looking at.
#[derive(Debug, Default, PartialEq, Eq)]
struct WatchedPanes {
    /// The id and the terminal of each pane, by its owner.
    panes: BTreeMap<String, (String, String)>,
    looked_at: Vec<String>,
}

/// Tells the user about each notice, unless the user is looking at it.
pub(super) fn tell(tmux: &Tmux, receipt: &Receipt, notices: &[Notice], config: &NotifyConfig) {
    let panes = WatchedPanes::load(tmux, receipt);
    for notice in notices {
        let pane = panes.panes.get(notice.agent.as_str());
        if pane.is_some_and(|(id, _)| panes.looked_at.contains(id)) {
            continue;
        }
        tracing::info!(target: "paw::session", "{} {}: {}", notice.agent, notice.kind.words(), notice.text);
        // Messages about the whole session ring in any of its panes.
        let terminal = pane.or_else(|| panes.panes.values().next()).map(|(_, terminal)| terminal);
        if let Some(terminal) = terminal.filter(|_| config.bell) {
            ring(terminal);
        }
        let programs = programs(notice, receipt, config);
        if !programs.is_empty() {
            // A slow program must not delay the next notice.
            let running = thread::Builder::new().name("paw-notify".to_owned()).spawn(move || run(&programs));
            drop(running);
        }
    }
}

impl WatchedPanes {
    fn load(tmux: &Tmux, receipt: &Receipt) -> Self {
        let running = RunningSessions::load(tmux).unwrap_or_default();
        let Some(target) = running.find(receipt).map(TmuxSession::target) else { return Self::default() };
        let format = format!("#{{{MARK}}}\t#{{pane_id}}\t#{{pane_tty}}");
        let list = |verb: &str, args: &[&str]| {
            tmux.run(&TmuxCommand::new(verb).args(args.iter().copied())).unwrap_or_default()
        };
        let panes = list("list-panes", &["-s", "-t", &target, "-F", &format]);
        let clients = list("list-clients", &["-t", &target, "-F", "#{client_flags}\t#{pane_id}"]);
        Self { panes: parse_panes(&panes), looked_at: parse_clients(&clients) }
    }
}

fn parse_panes(listing: &str) -> BTreeMap<String, (String, String)> {
    let pane = |line: &str| {
        let [mark, id, terminal] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else { return None };
        Some((mark.to_owned(), (id.to_owned(), terminal.to_owned())))
    };
    listing.lines().filter_map(pane).collect()
}

/// The active panes of clients whose terminal has the focus. A client in control mode has no terminal.
fn parse_clients(listing: &str) -> Vec<String> {
    let client = |line: &str| {
        let (flags, pane) = line.split_once('\t')?;
        let has = |wanted: &str| flags.split(',').any(|flag| flag == wanted);
        (has("focused") && !has("control-mode")).then(|| pane.to_owned())
    };
    listing.lines().filter_map(client).collect()
}

/// Rings the bell of a pane. tmux treats it like a bell of the program in the pane.
fn ring(terminal: &str) {
    let rung = OpenOptions::new().write(true).open(terminal).and_then(|mut file| file.write_all(b"\x07"));
    if let Err(error) = rung {
        tracing::warn!(target: "paw::session", "cannot ring the bell of {terminal}: {error}");
    }
}

fn programs(notice: &Notice, receipt: &Receipt, config: &NotifyConfig) -> Vec<Command> {
    let desktop = config.desktop.then(|| desktop(notice, receipt)).flatten();
    let own = config.command.as_ref().map(|line| {
        Command::new("sh")
            .args(["-c", line])
            .dir(&receipt.repo_path)
            .env("PAW_EVENT", notice.kind.name())
            .env("PAW_AGENT", notice.agent.as_str())
            .env("PAW_TEXT", &notice.text)
            .env("PAW_SESSION", receipt.session_name.as_str())
    });
    desktop.into_iter().chain(own).collect()
}

/// The desktop's own program, if there is one.
fn desktop(notice: &Notice, receipt: &Receipt) -> Option<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let title = format!("{} {}", notice.agent, notice.kind.words());
    let title = format!("{title} ({})", receipt.project_name);
    let title = text::line(&title);
    if let Some(program) = find_program("notify-send", &path) {
        // The body may contain markup.
        let arguments = ["--app-name=git-paw", "--", &title, &text::html(&notice.text)]
            .map(OsStr::new)
            .map(OsStr::to_owned);
        return Some(Command::new(program).args(arguments));
    }
    let program = find_program("osascript", &path)?;
    let script =
        ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
    let script = script.iter().flat_map(|line| ["-e", line]);
    Some(Command::new(program).args(script).args([title.as_ref(), notice.text.as_str()]))
}

fn run(programs: &[Command]) {
    for program in programs {
        match program.clone().time_limit(TIME_LIMIT).capture() {
            Ok(output) if output.exit.success() => {}
            Ok(output) => tracing::warn!(target: "paw::session", "a notification failed: {:?}", output.exit),
            Err(error) => tracing::warn!(target: "paw::session", "a notification failed: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_active_pane_of_a_focused_terminal_is_looked_at() {
        let listing = "attached,focused,UTF-8\t%3\nattached,UTF-8\t%4\nfocused\t%5\nunfocused\t%6\n";
        assert_eq!(parse_clients(listing), ["%3", "%5"]);
        assert_eq!(parse_clients("attached,focused,control-mode\t%3\n"), [""; 0]);
        assert_eq!(parse_clients("nonsense\n"), [""; 0]);
    }

    #[test]
    fn panes_are_found_by_their_owner() {
        let panes = parse_panes("feat-x\t%1\t/dev/pts/1\n\t%2\t/dev/pts/2\nhalf\n");
        assert_eq!(panes["feat-x"], ("%1".to_owned(), "/dev/pts/1".to_owned()));
        assert_eq!(panes.len(), 2);
    }
}
