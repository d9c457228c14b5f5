//! The event loop of the dashboard: terminal, updates and requests.
//!
//! It sleeps until an event arrives or an age on the screen changes, and draws only then.

use std::io;
use std::time::Duration;

use crossterm::event::Event as TerminalEvent;
use jiff::Timestamp;
use paw_core::AgentId;
use paw_host::signals::wait_for_shutdown;
use paw_view::SessionView;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_stream::{Stream, StreamExt as _};

use super::{
    DashboardEffect, DashboardEvent, DashboardOptions, DashboardRequest, DashboardState, DashboardUpdate,
    draw,
};
use crate::terminal::{RawTerminal, TerminalError};
use crate::terminal_input::TerminalInput;

/// The minimum time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// The most updates that are applied before keys are checked.
const BATCH: usize = 256;

/// Why the dashboard closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardExit {
    /// The user closed it.
    Closed,
    /// The process is stopping.
    Stopped,
    /// The terminal was closed.
    TerminalGone,
    /// The user wants to see this agent's pane.
    Attach(AgentId),
}

/// The channels of the dashboard.
#[derive(Debug)]
pub struct DashboardChannels {
    pub updates: mpsc::Receiver<DashboardUpdate>,
    pub requests: mpsc::Sender<DashboardRequest>,
}

/// Shows the dashboard on the user's terminal until the user closes it, the terminal is closed, a signal asks the process
/// to stop, or `stop` resolves.
pub async fn run_on_terminal(
    options: DashboardOptions,
    view: SessionView,
    channels: DashboardChannels,
    stop: impl Future<Output = ()>,
) -> Result<DashboardExit, TerminalError> {
    let mut screen = RawTerminal::open()?;
    let size = screen.terminal.size()?;
    let state = DashboardState::new(options, view, size.width, size.height, paw_host::clock::now());
    let stop = async {
        tokio::select! {
            () = stop => {}
            // If signal handlers cannot be installed, only `stop` remains.
            Ok(()) = wait_for_shutdown() => {}
        }
    };
    let end =
        run(&mut screen.terminal, state, TerminalInput::new(), channels, stop, paw_host::clock::now).await?;
    Ok(end)
}

/// Runs a dashboard on any terminal, with any source of keys.
pub async fn run<B, K>(
    terminal: &mut Terminal<B>,
    mut state: DashboardState,
    mut keys: K,
    mut channels: DashboardChannels,
    stop: impl Future<Output = ()>,
    clock: impl Fn() -> Timestamp,
) -> Result<DashboardExit, B::Error>
where
    B: Backend,
    K: Stream<Item = io::Result<TerminalEvent>> + Unpin,
{
    tokio::pin!(stop);
    let mut updates_open = true;
    let mut batch = Vec::with_capacity(BATCH);
    // The first event lets the state ask for what it shows.
    let mut events = vec![DashboardEvent::Wake];
    let mut due = Some(Instant::now());
    let mut drawn_at = Instant::now();
    loop {
        let wake = state.next_wake().map(|wake| until(wake, clock()));
        tokio::select! {
            biased;
            () = &mut stop => return Ok(DashboardExit::Stopped),
            () = sleep_until(due.unwrap_or(drawn_at)), if due.is_some() => {
                terminal.draw(|frame| draw(&state, frame))?;
                drawn_at = Instant::now();
                due = None;
            }
            key = keys.next() => match key {
                Some(Ok(key)) => events.extend(of_input(key)),
                Some(Err(_)) | None => return Ok(DashboardExit::TerminalGone),
            },
            count = channels.updates.recv_many(&mut batch, BATCH), if updates_open => {
                updates_open = count > 0;
                events.extend(batch.drain(..).map(DashboardEvent::Update));
            }
            () = sleep(wake.unwrap_or_default()), if wake.is_some() && due.is_none() => events.push(DashboardEvent::Wake),
        }
        for event in events.drain(..) {
            for effect in state.on_event(event, clock()) {
                match effect {
                    DashboardEffect::Redraw => due = due.or(Some(drawn_at + FRAME)),
                    DashboardEffect::Repaint => terminal.clear()?,
                    DashboardEffect::Request(request) => {
                        hand_over(&channels.requests, request, &mut state, clock());
                    }
                    DashboardEffect::Attach(agent) => return Ok(DashboardExit::Attach(agent)),
                    DashboardEffect::Quit => return Ok(DashboardExit::Closed),
                }
            }
        }
    }
}

/// Never waits: a slow receiver must not freeze the screen.
fn hand_over(
    requests: &mpsc::Sender<DashboardRequest>,
    request: DashboardRequest,
    state: &mut DashboardState,
    now: Timestamp,
) {
    if let Err(error) = requests.try_send(request) {
        let reason = error.to_string().as_str().into();
        let (mpsc::error::TrySendError::Full(request) | mpsc::error::TrySendError::Closed(request)) = error;
        let failed = match request {
            DashboardRequest::Answer(answer) => {
                DashboardUpdate::AnswerFailed { question: answer.question, reason }
            }
            _ => DashboardUpdate::Failed(reason),
        };
        state.on_event(DashboardEvent::Update(failed), now);
    }
}

fn of_input(input: TerminalEvent) -> Option<DashboardEvent> {
    match input {
        TerminalEvent::Key(key) => Some(DashboardEvent::Key(key)),
        TerminalEvent::Paste(text) => Some(DashboardEvent::Paste(text)),
        TerminalEvent::Resize(columns, rows) => Some(DashboardEvent::Resize { columns, rows }),
        TerminalEvent::FocusGained | TerminalEvent::FocusLost | TerminalEvent::Mouse(_) => None,
    }
}

/// The time until `then`, rounded up, so that `then` has passed after it.
fn until(then: Timestamp, now: Timestamp) -> Duration {
    let left = then.duration_since(now);
    Duration::try_from(left).unwrap_or_default() + Duration::from_millis(1)
}
