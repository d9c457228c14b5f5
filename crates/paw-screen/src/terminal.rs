//! The user's terminal, taken over and given back however the program ends.

use std::io::{self, BufWriter, IsTerminal as _, Stdout};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, terminal};
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

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
pub struct RawTerminal {
    /// Never dropped: it would speak to a terminal that may be gone, and panic. What it would do is done by `Taken`.
    pub terminal: ManuallyDrop<Terminal<Backend>>,
    _taken: Taken,
}

/// Whether there is something to give back. Static, because a panic knows nothing else.
static TAKEN: AtomicBool = AtomicBool::new(false);

impl RawTerminal {
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
