//! The live terminal of an agent: what its pane shows, then what it prints, at the pane's own size.
//!
//! - `screen`: the sequences that make a new terminal show what the pane shows
//! - `socket`: the WebSocket of a page
//!
//! A client in control mode reads the pane. It never changes the size of the user's windows. A pane on another machine is read
//! in the same way, over ssh.

mod screen;
mod socket;

pub(crate) use socket::{TerminalTarget, serve};

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use paw_core::AgentId;
use paw_host::process::{Command, Stopper};
use paw_host::tmux::{ControlClient, ControlEvent, ControlSender, Tmux, TmuxCommand, TmuxError};
use paw_session::panes::{MARK, TAKEN};
use tokio::sync::mpsc;

use screen::PaneShape;

/// Events that wait for a slow page. tmux holds back the rest.
const QUEUE: usize = 256;
/// Bytes in one `send-keys`.
const KEYS_AT_ONCE: usize = 256;

/// Numbers the connections to other machines: each takes a pane over under its own name.
static NEXT_HOLDER: AtomicU64 = AtomicU64::new(0);

/// Where the pane of an agent is.
#[derive(Debug)]
pub(crate) enum PanePlace {
    Here {
        tmux: Tmux,
        target: String,
        pane: String,
    },
    /// On another machine; the command connects to the session there, in control mode.
    Elsewhere {
        command: Command,
    },
}

/// Something to show.
#[derive(Debug)]
enum TerminalEvent {
    /// The pane's size, and the sequences that redraw it.
    Screen {
        columns: u32,
        rows: u32,
        bytes: Vec<u8>,
    },
    Output(Vec<u8>),
    /// The connection failed, for this reason, or ended.
    Ended(Option<String>),
}

/// A connection to one pane.
#[derive(Debug)]
struct PaneConnection {
    events: mpsc::Receiver<TerminalEvent>,
    sender: ControlSender,
    stopper: Stopper,
    /// Its id, once it is known.
    pane: Arc<OnceLock<String>>,
    /// The name under which a pane of another machine is taken over, and whether it is.
    holder: Option<(String, bool)>,
}

impl PaneConnection {
    fn open(agent: AgentId, place: PanePlace) -> Result<Self, TmuxError> {
        let pane = Arc::new(OnceLock::new());
        let (client, holder) = match place {
            PanePlace::Here { tmux, target, pane: id } => {
                let _ = pane.set(id);
                (ControlClient::attach(&tmux, &target)?, None)
            }
            PanePlace::Elsewhere { command } => {
                let number = NEXT_HOLDER.fetch_add(1, Ordering::Relaxed);
                let holder = format!("page-{}-{number}", std::process::id());
                (ControlClient::start(&command.args(["--holder", &holder]))?, Some((holder, false)))
            }
        };
        let (sender, stopper) = (client.sender(), client.stopper());
        let (out, events) = mpsc::channel(QUEUE);
        let mut reader = PaneReader {
            sender: sender.clone(),
            agent,
            pane: Arc::clone(&pane),
            out,
            expected: Expected::Attach,
            problem: None,
        };
        let name = "paw-terminal".to_owned();
        std::thread::Builder::new()
            .name(name)
            .spawn(move || {
                let ended = client.follow(|event| reader.on_event(event));
                let reason = reader.problem.take();
                let reason = reason.or_else(|| ended.unwrap_or_else(|error| Some(error.to_string())));
                // The page may have closed it.
                let _ = reader.out.blocking_send(TerminalEvent::Ended(reason));
            })
            .map_err(|_| TmuxError::ConnectionLost)?;
        Ok(Self { events, sender, stopper, pane, holder })
    }

    /// Types bytes into the pane.
    fn type_keys(&self, bytes: &[u8]) -> Result<(), TmuxError> {
        let Some(pane) = self.pane.get() else { return Ok(()) };
        for part in bytes.chunks(KEYS_AT_ONCE) {
            let keys = part.iter().map(|byte| format!("{byte:02x}"));
            self.sender.send(&TmuxCommand::new("send-keys").args(["-H", "-t", pane]).args(keys))?;
        }
        Ok(())
    }

    /// Shows in the border of a pane on another machine whether someone types into it.
    fn show_taken(&mut self, is_taken: bool) -> Result<(), TmuxError> {
        let (Some(pane), Some((holder, shown))) = (self.pane.get(), &mut self.holder) else { return Ok(()) };
        if *shown == is_taken {
            return Ok(());
        }
        *shown = is_taken;
        let set = TmuxCommand::new("set-option");
        self.sender.send(&if is_taken {
            set.args(["-p", "-t", pane, TAKEN, holder])
        } else {
            set.args(["-p", "-u", "-t", pane, TAKEN])
        })
    }
}

impl Drop for PaneConnection {
    fn drop(&mut self) {
        // The other machine ends the connection in order, and releases the pane.
        let detach = TmuxCommand::new("detach-client");
        if self.holder.is_none() || self.sender.send(&detach).is_err() {
            self.stopper.stop();
        }
    }
}

/// Which reply comes next. Replies arrive in the order of the commands.
#[derive(Debug)]
enum Expected {
    Attach,
    Panes,
    Shape,
    Capture(PaneShape),
    Nothing,
}

struct PaneReader {
    sender: ControlSender,
    agent: AgentId,
    pane: Arc<OnceLock<String>>,
    out: mpsc::Sender<TerminalEvent>,
    expected: Expected,
    /// Why it ended the connection.
    problem: Option<String>,
}

impl PaneReader {
    fn on_event(&mut self, event: ControlEvent) -> ControlFlow<()> {
        match event {
            ControlEvent::Output { pane, bytes } if self.pane.get() == Some(&pane) => {
                // Output before the capture is part of it.
                if matches!(self.expected, Expected::Nothing) {
                    return self.pass_on(TerminalEvent::Output(bytes));
                }
                ControlFlow::Continue(())
            }
            ControlEvent::Reply { success, lines } => self.on_reply(success, &lines),
            ControlEvent::LayoutChanged if matches!(self.expected, Expected::Nothing) => {
                self.ask_for_screen()
            }
            ControlEvent::Output { .. } | ControlEvent::LayoutChanged => ControlFlow::Continue(()),
            ControlEvent::Exit => ControlFlow::Break(()),
        }
    }

    fn on_reply(&mut self, success: bool, lines: &[Vec<u8>]) -> ControlFlow<()> {
        match std::mem::replace(&mut self.expected, Expected::Nothing) {
            _ if !success => ControlFlow::Break(()),
            Expected::Attach if self.pane.get().is_none() => self.ask_for_panes(),
            Expected::Attach => self.ask_for_screen(),
            Expected::Panes => {
                if let Some(pane) = find_pane(lines, &self.agent) {
                    let _ = self.pane.set(pane);
                    return self.ask_for_screen();
                }
                self.problem = Some(format!("{} has no pane", self.agent));
                ControlFlow::Break(())
            }
            Expected::Shape => match lines.first().and_then(|line| PaneShape::parse(line)) {
                Some(shape) => {
                    self.expected = Expected::Capture(shape);
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            },
            Expected::Capture(shape) => {
                let (columns, rows, bytes) = (shape.columns, shape.rows, shape.draw(lines));
                self.pass_on(TerminalEvent::Screen { columns, rows, bytes })
            }
            // The reply to typed keys, or to a mark.
            Expected::Nothing => ControlFlow::Continue(()),
        }
    }

    /// The panes of the session, each with its owner.
    fn ask_for_panes(&mut self) -> ControlFlow<()> {
        self.expected = Expected::Panes;
        let format = format!("#{{pane_id}} #{{{MARK}}}");
        let list = TmuxCommand::new("list-panes").args(["-s", "-F", &format]);
        if self.sender.send(&list).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Both replies are on this connection, so everything the pane prints after the capture comes after it.
    fn ask_for_screen(&mut self) -> ControlFlow<()> {
        let Some(pane) = self.pane.get() else { return ControlFlow::Break(()) };
        self.expected = Expected::Shape;
        let shape = TmuxCommand::new("display-message").args(["-p", "-t", pane, PaneShape::FORMAT]);
        let capture = TmuxCommand::new("capture-pane").args(["-p", "-e", "-t", pane]);
        match self.sender.send(&shape).and_then(|()| self.sender.send(&capture)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn pass_on(&self, event: TerminalEvent) -> ControlFlow<()> {
        match self.out.blocking_send(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// The pane of an agent in a listing of [`PaneReader::ask_for_panes`].
fn find_pane(lines: &[Vec<u8>], agent: &AgentId) -> Option<String> {
    let mut rows = lines.iter().filter_map(|line| std::str::from_utf8(line).ok()?.split_once(' '));
    rows.find(|(_, owner)| *owner == agent.as_str()).map(|(pane, _)| pane.to_owned())
}
