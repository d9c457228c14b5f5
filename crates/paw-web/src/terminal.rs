//! The live terminal of an agent: what its pane shows, then what it prints, at the pane's own size.
//!
//! - `screen`: the sequences that make a new terminal show what the pane shows
//! - `socket`: the WebSocket of a page
//!
//! A client in control mode reads the pane. It never changes the size of the user's windows.

mod screen;
mod socket;

pub(crate) use socket::{TerminalTarget, serve};

use std::ops::ControlFlow;

use paw_host::process::Stopper;
use paw_host::tmux::{ControlClient, ControlEvent, ControlSender, Tmux, TmuxCommand, TmuxError};
use tokio::sync::mpsc;

use screen::PaneShape;

/// Events that wait for a slow page. tmux holds back the rest.
const QUEUE: usize = 256;
/// Bytes in one `send-keys`.
const KEYS_AT_ONCE: usize = 256;

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
}

/// A connection to one pane.
#[derive(Debug)]
struct PaneConnection {
    events: mpsc::Receiver<TerminalEvent>,
    sender: ControlSender,
    stopper: Stopper,
    pane: String,
}

impl PaneConnection {
    /// Connects to a pane of the session of `target`.
    fn open(tmux: &Tmux, target: &str, pane: &str) -> Result<Self, TmuxError> {
        let client = ControlClient::attach(tmux, target)?;
        let (sender, stopper) = (client.sender(), client.stopper());
        let (out, events) = mpsc::channel(QUEUE);
        let mut reader =
            PaneReader { sender: sender.clone(), pane: pane.to_owned(), out, expected: Expected::Attach };
        let name = "paw-terminal".to_owned();
        std::thread::Builder::new()
            .name(name)
            .spawn(move || {
                if let Err(error) = client.follow(|event| reader.on_event(event)) {
                    tracing::debug!(target: "paw::web", "terminal connection: {error}");
                }
            })
            .map_err(|_| TmuxError::ConnectionLost)?;
        Ok(Self { events, sender, stopper, pane: pane.to_owned() })
    }

    /// Types bytes into the pane.
    fn type_keys(&self, bytes: &[u8]) -> Result<(), TmuxError> {
        for part in bytes.chunks(KEYS_AT_ONCE) {
            let keys = part.iter().map(|byte| format!("{byte:02x}"));
            self.sender.send(&TmuxCommand::new("send-keys").args(["-H", "-t", &self.pane]).args(keys))?;
        }
        Ok(())
    }
}

impl Drop for PaneConnection {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// Which reply comes next. Replies arrive in the order of the commands.
#[derive(Debug)]
enum Expected {
    Attach,
    Shape,
    Capture(PaneShape),
    Nothing,
}

struct PaneReader {
    sender: ControlSender,
    pane: String,
    out: mpsc::Sender<TerminalEvent>,
    expected: Expected,
}

impl PaneReader {
    fn on_event(&mut self, event: ControlEvent) -> ControlFlow<()> {
        match event {
            ControlEvent::Output { pane, bytes } if pane == self.pane => {
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
            Expected::Attach => self.ask_for_screen(),
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
            // The reply to typed keys.
            Expected::Nothing => ControlFlow::Continue(()),
        }
    }

    /// Both replies are on this connection, so everything the pane prints after the capture comes after it.
    fn ask_for_screen(&mut self) -> ControlFlow<()> {
        self.expected = Expected::Shape;
        let shape = TmuxCommand::new("display-message").args(["-p", "-t", &self.pane, PaneShape::FORMAT]);
        let capture = TmuxCommand::new("capture-pane").args(["-p", "-e", "-t", &self.pane]);
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
