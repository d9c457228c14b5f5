//! The user's terminal in raw mode, restored however the program ends.

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

/// Why the terminal cannot be used.
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

/// The ratatui backend.
pub type Backend = CrosstermBackend<BufWriter<Stdout>>;

/// The terminal in raw mode with an empty alternate screen. Dropping this restores the terminal.
#[derive(Debug)]
pub struct RawTerminal {
    /// Never dropped, because its `drop` panics if the terminal was closed. `RestoreGuard` restores the terminal instead.
    pub terminal: ManuallyDrop<Terminal<Backend>>,
    _guard: RestoreGuard,
}

/// Whether the terminal has to be restored. Static, so that the panic hook can read it.
static IS_RAW: AtomicBool = AtomicBool::new(false);

impl RawTerminal {
    pub fn open() -> Result<Self, TerminalError> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(TerminalError::NotATerminal);
        }
        restore_before_panics();
        terminal::enable_raw_mode()?;
        IS_RAW.store(true, Ordering::SeqCst);
        let guard = RestoreGuard;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(io::stdout())))?;
        Ok(Self { terminal: ManuallyDrop::new(terminal), _guard: guard })
    }
}

/// Restores the terminal when dropped, also if opening it fails halfway.
#[derive(Debug)]
struct RestoreGuard;

impl Drop for RestoreGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal. Errors are ignored, because a closed terminal needs nothing.
fn restore() {
    if IS_RAW.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// Restores the terminal before a panic message is printed, so that the message is visible.
fn restore_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}
