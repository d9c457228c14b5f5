//! The user's terminal, taken over and given back however the program ends.

use std::io::{self, BufWriter, IsTerminal as _, Stdout};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, terminal};
use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A terminal that cannot be drawn on.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("the dashboard needs a terminal")]
    NotATerminal,
    #[error("cannot use the terminal: {0}")]
    Io(#[from] io::Error),
}

impl Diagnostic for TerminalError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::NotATerminal => ErrorReport::new(ErrorCode::FailedPrecondition, self)
                .hint("git paw serve runs the broker without one"),
            Self::Io(_) => ErrorReport::new(ErrorCode::Internal, self),
        }
    }
}

/// What ratatui draws on.
pub type Backend = CrosstermBackend<BufWriter<Stdout>>;

/// The terminal in raw mode with an empty screen, until it is dropped.
#[derive(Debug)]
pub struct Screen {
    /// Never dropped: it would speak to a terminal that may be gone, and panic. What it would do is done by `Taken`.
    pub terminal: ManuallyDrop<Terminal<Backend>>,
    _taken: Taken,
}

/// Whether there is something to give back. Static, because a panic knows nothing else.
static TAKEN: AtomicBool = AtomicBool::new(false);

impl Screen {
    pub fn open() -> Result<Self, TerminalError> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(TerminalError::NotATerminal);
        }
        restore_before_panics();
        terminal::enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let taken = Taken;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(io::stdout())))?;
        Ok(Self { terminal: ManuallyDrop::new(terminal), _taken: taken })
    }
}

/// Gives the terminal back, also when opening it fails half way.
#[derive(Debug)]
struct Taken;

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// The terminal as it was. A terminal that is gone needs nothing.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// A message about a panic is of use only on a screen that shows it.
fn restore_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}

/// What asks a process to end: a terminal that hangs up, Ctrl+C, or somebody. Caught from the moment this is made, which
/// needs a runtime.
#[derive(Debug)]
pub struct EndSignals([Signal; 3]);

impl EndSignals {
    /// From here on a signal ends nothing by itself: `then` is done, by a thread that waits for the first one.
    pub fn on_first(then: impl FnOnce() + Send + 'static) -> Result<(), PawError> {
        let failed = |error: io::Error| PawError::internal(format!("cannot catch signals: {error}"));
        let runtime = runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
        let caught = runtime.enter();
        let mut signals = Self::catch().map_err(failed)?;
        drop(caught);
        thread::spawn(move || {
            runtime.block_on(signals.asked());
            then();
        });
        Ok(())
    }

    pub fn catch() -> io::Result<Self> {
        let [hangup, interrupt, terminate] =
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        Ok(Self([hangup?, interrupt?, terminate?]))
    }

    pub async fn asked(&mut self) {
        let [hangup, interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// Resolves when the process is asked to end.
pub async fn asked_to_end() -> io::Result<()> {
    EndSignals::catch()?.asked().await;
    Ok(())
}
