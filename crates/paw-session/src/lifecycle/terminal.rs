//! The pane of an agent, for programs: what it shows, and a connection to it.

use std::io::{self, BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use paw_core::AgentId;
use paw_host::process::{Command, Exit, ProcessError};
use paw_host::tmux::TmuxCommand;

use super::window::TmuxWindow;
use super::{LifecycleError, Session};
use crate::panes::TAKEN;

/// The hidden command that connects the page to the pane of an agent on another machine.
pub const TERMINAL_COMMAND: &str = "__terminal";

/// What the hub sends while nothing is typed, how often, and how long the other machine waits for it. A connection that is lost
/// without being closed can otherwise last for hours there.
const ALIVE: &[u8] = b"alive\n";
const BEAT: Duration = Duration::from_secs(4);
const LEASE: Duration = Duration::from_secs(15);
/// How long a program may take to end when its input has ended. A client of tmux whose output was closed first never ends.
const GRACE: Duration = Duration::from_secs(2);
/// The other machine also releases the pane.
const REMOTE_GRACE: Duration = Duration::from_secs(10);
/// Lines that wait for a slow connection.
const QUEUE: usize = 64;

impl Session {
    /// What the pane of an agent shows.
    pub fn pane_text(&self, agent: &AgentId) -> Result<String, LifecycleError> {
        let (_, pane) = self.require_pane(agent)?;
        Ok(self.tmux.capture_pane(&pane)?)
    }

    /// Connects standard input and output to the session, in control mode, until either ends. If the pane was taken over under
    /// the name `holder` by then, releases it: the other side may be gone. With `is_leased`, silence ends the connection, too.
    pub fn connect_terminal(
        &self,
        agent: &AgentId,
        holder: &str,
        is_leased: bool,
    ) -> Result<Exit, LifecycleError> {
        let (window, pane) = self.require_pane(agent)?;
        let lease = if is_leased { LEASE } else { Duration::MAX };
        let lines = read_lines(BufReader::new(io::stdin()));
        let client = self.tmux.control_command(&window.session);
        let ended = client.feed(GRACE, move |input| pass_on_while_alive(&lines, lease, input));
        let is_held = format!("#{{==:#{{{TAKEN}}},{holder}}}");
        let release = format!("set-option -p -u -t '{pane}' {TAKEN}");
        let release = TmuxCommand::new("if-shell").args(["-F", "-t", &pane, &is_held, &release]);
        // Without the pane there is nothing to release.
        let _ = self.tmux.run(&release);
        Ok(ended.map_err(paw_host::tmux::TmuxError::from)?)
    }

    fn require_pane(&self, agent: &AgentId) -> Result<(TmuxWindow, String), LifecycleError> {
        let window = self.find_window()?;
        let found = window.and_then(|window| {
            let pane = window.find_pane(agent.as_str())?.id.clone();
            Some((window, pane))
        });
        found.ok_or_else(|| LifecycleError::NoPane(agent.clone()))
    }
}

/// Connects standard input and output to a command that leads to [`Session::connect_terminal`] on another machine, and says again and
/// again that this side is alive.
pub fn connect_elsewhere(command: &Command) -> Result<Exit, ProcessError> {
    let lines = read_lines(BufReader::new(io::stdin()));
    command.feed(REMOTE_GRACE, move |input| pass_on_and_say_alive(&lines, BEAT, input))
}

/// The lines of an input, with their ends, until it ends.
fn read_lines(mut input: impl BufRead + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, lines) = sync_channel(QUEUE);
    thread::spawn(move || {
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

fn pass_on_and_say_alive(lines: &Receiver<Vec<u8>>, beat: Duration, mut output: impl Write) {
    loop {
        let line = match lines.recv_timeout(beat) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => ALIVE.to_vec(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

fn pass_on_while_alive(lines: &Receiver<Vec<u8>>, lease: Duration, mut output: impl Write) {
    while let Ok(line) = lines.recv_timeout(lease) {
        if line != ALIVE && output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any test waits.
    const LONG: Duration = Duration::from_mins(5);

    #[test]
    fn a_side_that_has_nothing_to_say_says_that_it_is_alive() {
        let (reader, writer) = io::pipe().unwrap();
        let (quiet, mut typed) = io::pipe().unwrap();
        let lines = read_lines(BufReader::new(quiet));
        let hub = thread::spawn(move || pass_on_and_say_alive(&lines, Duration::from_millis(10), writer));
        let mut heard = BufReader::new(reader).lines().map(Result::unwrap);
        assert_eq!(heard.next().unwrap(), "alive");
        typed.write_all(b"list-panes\n").unwrap();
        assert_eq!(heard.find(|line| line != "alive").unwrap(), "list-panes");
        drop(typed);
        hub.join().unwrap();
    }

    #[test]
    fn a_connection_lasts_while_the_other_side_is_alive_and_its_signs_of_life_are_not_passed_on() {
        let (quiet, mut typed) = io::pipe().unwrap();
        typed.write_all(b"one\nalive\ntwo\nalive\n").unwrap();
        let mut passed = Vec::new();
        // It returns although the input stays open.
        pass_on_while_alive(&read_lines(BufReader::new(quiet)), Duration::from_millis(200), &mut passed);
        assert_eq!(passed, b"one\ntwo\n");
        drop(typed);
        let mut passed = Vec::new();
        pass_on_while_alive(&read_lines(io::Cursor::new(b"one\nlast")), LONG, &mut passed);
        assert_eq!(passed, b"one\nlast");
    }
}
