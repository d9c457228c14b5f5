//! The loop that joins a terminal, a stream of updates and the sender of answers.
//!
//! It sleeps until something happens or an age on the screen reads differently, and paints only then.

use std::io;
use std::time::Duration;

use crossterm::event::Event as Input;
use jiff::Timestamp;
use paw_host::signals::asked_to_end;
use paw_view::SessionView;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_stream::{Stream, StreamExt as _};

use crate::dashboard::{Answer, Effect, Event, Options, State, Update, draw};
use crate::terminal::{Screen, TerminalError};
use crate::typed::Typed;

/// Paintings follow each other no faster than this, however fast updates come.
const FRAME: Duration = Duration::from_millis(33);
/// Updates taken in between two looks at the keyboard.
const BATCH: usize = 256;

/// Why the view was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The user closed it.
    Closed,
    /// The program is about to end.
    Stopped,
    /// There is no terminal any more.
    TerminalGone,
}

/// What the view is joined to.
#[derive(Debug)]
pub struct Wires {
    pub updates: mpsc::Receiver<Update>,
    pub answers: mpsc::Sender<Answer>,
}

/// Shows the dashboard on the user's terminal until it is closed, the terminal is gone, a signal asks the process to
/// end, or `stop` resolves.
pub async fn on_terminal(
    options: Options,
    view: SessionView,
    wires: Wires,
    stop: impl Future<Output = ()>,
) -> Result<End, TerminalError> {
    let mut screen = Screen::open()?;
    let size = screen.terminal.size()?;
    let state = State::new(options, view, size.width, size.height, paw_host::clock::now());
    let stop = async {
        tokio::select! {
            () = stop => {}
            // Without signal handlers there is still `stop`.
            Ok(()) = asked_to_end() => {}
        }
    };
    let end = run(&mut screen.terminal, state, Typed::new(), wires, stop, paw_host::clock::now).await?;
    Ok(end)
}

/// Runs a dashboard on any terminal, with keys from anywhere.
pub async fn run<B, K>(
    terminal: &mut Terminal<B>,
    mut state: State,
    mut keys: K,
    mut wires: Wires,
    stop: impl Future<Output = ()>,
    clock: impl Fn() -> Timestamp,
) -> Result<End, B::Error>
where
    B: Backend,
    K: Stream<Item = io::Result<Input>> + Unpin,
{
    tokio::pin!(stop);
    let mut updates_open = true;
    let mut batch = Vec::with_capacity(BATCH);
    let mut events = Vec::new();
    let mut due = Some(Instant::now());
    let mut painted = Instant::now();
    loop {
        let wake = state.next_wake().map(|wake| until(wake, clock()));
        tokio::select! {
            biased;
            () = &mut stop => return Ok(End::Stopped),
            () = sleep_until(due.unwrap_or(painted)), if due.is_some() => {
                terminal.draw(|frame| draw(&state, frame))?;
                painted = Instant::now();
                due = None;
            }
            key = keys.next() => match key {
                Some(Ok(key)) => events.extend(of_input(key)),
                Some(Err(_)) | None => return Ok(End::TerminalGone),
            },
            count = wires.updates.recv_many(&mut batch, BATCH), if updates_open => {
                updates_open = count > 0;
                events.extend(batch.drain(..).map(Event::Update));
            }
            () = sleep(wake.unwrap_or_default()), if wake.is_some() && due.is_none() => events.push(Event::Wake),
        }
        for event in events.drain(..) {
            for effect in state.on_event(event, clock()) {
                match effect {
                    Effect::Redraw => due = due.or(Some(painted + FRAME)),
                    Effect::Repaint => terminal.clear()?,
                    Effect::Answer(answer) => hand_over(&wires.answers, answer, &mut state, clock()),
                    Effect::Quit => return Ok(End::Closed),
                }
            }
        }
    }
}

/// Never waits: a carrier that does not keep up must not freeze the screen.
fn hand_over(answers: &mpsc::Sender<Answer>, answer: Answer, state: &mut State, now: Timestamp) {
    if let Err(error) = answers.try_send(answer) {
        let reason = error.to_string();
        let (mpsc::error::TrySendError::Full(answer) | mpsc::error::TrySendError::Closed(answer)) = error;
        let failed = Update::AnswerFailed { question: answer.question, reason: reason.as_str().into() };
        state.on_event(Event::Update(failed), now);
    }
}

fn of_input(input: Input) -> Option<Event> {
    match input {
        Input::Key(key) => Some(Event::Key(key)),
        Input::Paste(text) => Some(Event::Paste(text)),
        Input::Resize(columns, rows) => Some(Event::Resize { columns, rows }),
        Input::FocusGained | Input::FocusLost | Input::Mouse(_) => None,
    }
}

/// How long it is until then, rounded up so that the moment has surely come.
fn until(then: Timestamp, now: Timestamp) -> Duration {
    let left = then.duration_since(now);
    Duration::try_from(left).unwrap_or_default() + Duration::from_millis(1)
}
