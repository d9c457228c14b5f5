//! A client in control mode: what a pane prints, as it happens, and commands with their replies on one connection.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::ChildStdin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use paw_core::text;

use super::{Tmux, TmuxCommand, TmuxError};
use crate::process::{Command, RunningCommand, Stopper, Stream};

/// Numbers the connections: ending a mark ends every process that carries it.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Lines of one reply that are kept.
const LONGEST_REPLY: usize = 10_000;

/// Something that the server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlEvent {
    /// A pane printed these bytes.
    Output { pane: String, bytes: Vec<u8> },
    /// The reply to a command, in the order of the commands.
    Reply { success: bool, lines: Vec<Vec<u8>> },
    /// Panes were resized, split or closed.
    LayoutChanged,
    /// The connection ends.
    Exit,
}

/// Reads the lines of control mode.
#[derive(Debug, Default)]
pub struct ControlParser {
    reply: Option<Vec<Vec<u8>>>,
}

impl ControlParser {
    /// Reads one line, without its newline.
    pub fn read(&mut self, line: &[u8]) -> Option<ControlEvent> {
        if let Some(lines) = &mut self.reply {
            let success = line.starts_with(b"%end ");
            if success || line.starts_with(b"%error ") {
                let lines = self.reply.take().unwrap_or_default();
                return Some(ControlEvent::Reply { success, lines });
            }
            if lines.len() < LONGEST_REPLY {
                lines.push(line.to_vec());
            }
            return None;
        }
        let (word, rest) = split(line);
        match word {
            b"%begin" => {
                self.reply = Some(Vec::new());
                None
            }
            b"%output" => {
                let (pane, text) = split(rest);
                let pane = String::from_utf8_lossy(pane).into_owned();
                Some(ControlEvent::Output { pane, bytes: unescape(text) })
            }
            b"%layout-change" | b"%window-close" | b"%unlinked-window-close" => {
                Some(ControlEvent::LayoutChanged)
            }
            b"%exit" => Some(ControlEvent::Exit),
            _ => None,
        }
    }
}

fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// Control mode writes control characters and backslashes as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let escaped = tail.first_chunk::<3>().filter(|digits| {
            *first == b'\\' && digits[0] <= b'3' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit))
        });
        if let Some(digits) = escaped {
            bytes.push(digits.iter().fold(0, |byte, digit| byte * 8 + (digit - b'0')));
            rest = &tail[3..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes
}

/// Sends commands on the connection, from any thread.
#[derive(Debug, Clone)]
pub struct ControlSender(Arc<Mutex<ChildStdin>>);

impl ControlSender {
    /// Sends a command. Its reply arrives as an event.
    pub fn send(&self, command: &TmuxCommand) -> Result<(), TmuxError> {
        let mut line = Vec::new();
        command.write_script(&mut line);
        line.push(b'\n');
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pipe.write_all(&line).and_then(|()| pipe.flush()).map_err(|_| TmuxError::ConnectionLost)
    }
}

/// A connection to a session.
#[derive(Debug)]
pub struct ControlClient {
    running: RunningCommand,
    sender: ControlSender,
}

impl ControlClient {
    /// Attaches to the session of `target` without changing the size of any window.
    pub fn attach(tmux: &Tmux, target: &str) -> Result<Self, TmuxError> {
        Self::start(&tmux.control_command(target))
    }

    /// Connects through a program that leads to a [`Tmux::control_command`], possibly on another machine.
    pub fn start(command: &Command) -> Result<Self, TmuxError> {
        let command = command.clone().open_input();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut running = command.start(&format!("tmux-control-{}-{number}", std::process::id()))?;
        let stdin = running.take_stdin().ok_or(TmuxError::ConnectionLost)?;
        Ok(Self { running, sender: ControlSender(Arc::new(Mutex::new(stdin))) })
    }

    pub fn sender(&self) -> ControlSender {
        self.sender.clone()
    }

    pub fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Passes on events until the connection ends or `on_event` breaks. Returns the last message of a program that failed.
    /// Blocks.
    pub fn follow(
        self,
        mut on_event: impl FnMut(ControlEvent) -> ControlFlow<()>,
    ) -> Result<Option<String>, TmuxError> {
        let (mut parser, mut last) = (ControlParser::default(), None);
        let Self { running, sender } = self;
        let followed = running.follow(|stream, line| {
            let event = match stream {
                Stream::Out => parser.read(line),
                Stream::Err => {
                    let said = text::output_line(&String::from_utf8_lossy(line));
                    last = Some(said).filter(|said| !said.trim().is_empty()).or(last.take());
                    None
                }
            };
            event.map_or(ControlFlow::Continue(()), &mut on_event)
        })?;
        drop(sender);
        let has_failed = !followed.stopped && !followed.exit.success();
        Ok(has_failed.then(|| last.unwrap_or_else(|| format!("the connection {}", followed.exit))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(lines: &[&str]) -> Vec<ControlEvent> {
        let mut parser = ControlParser::default();
        lines.iter().filter_map(|line| parser.read(line.as_bytes())).collect()
    }

    #[test]
    fn output_and_replies_are_told_apart() {
        let events = read(&[
            "%begin 1 1 0",
            "80 24",
            "%output %1 this is the text of a reply",
            "%end 1 1 0",
            "%output %7 a\\033[1mb\\134c",
            "%layout-change @1 abcd",
            "%exit",
        ]);
        let lines = vec![b"80 24".to_vec(), b"%output %1 this is the text of a reply".to_vec()];
        assert_eq!(
            events,
            [
                ControlEvent::Reply { success: true, lines },
                ControlEvent::Output { pane: "%7".to_owned(), bytes: b"a\x1b[1mb\\c".to_vec() },
                ControlEvent::LayoutChanged,
                ControlEvent::Exit,
            ]
        );
    }

    proptest! {
        #[test]
        fn escaped_bytes_are_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut text = Vec::new();
            for byte in &bytes {
                if *byte < b' ' || *byte == b'\\' {
                    text.extend(format!("\\{byte:03o}").into_bytes());
                } else {
                    text.push(*byte);
                }
            }
            prop_assert_eq!(unescape(&text), bytes);
        }

        #[test]
        fn no_line_makes_the_parser_fail(lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..8)) {
            let mut parser = ControlParser::default();
            for line in lines {
                let _ = parser.read(&line);
            }
        }
    }
}
