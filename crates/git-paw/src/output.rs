//! The only way to stdout and stderr: one JSON document or lines for people, colour on terminals only, and a
//! closed pipe is no failure.

use std::io::{self, IsTerminal as _, Write};

use paw_core::PawError;
use paw_core::error::EXIT_OK;
use serde::Serialize;
use serde_json::json;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How a word is set off on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Dim,
    Good,
    Doubtful,
    Bad,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    colour_out: bool,
    colour_err: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json,
            colour_out: wanted && io::stdout().is_terminal(),
            colour_err: wanted && io::stderr().is_terminal(),
        }
    }

    pub(crate) fn wants_json(self) -> bool {
        self.json
    }

    /// A line of the answer.
    pub(crate) fn say(self, line: &str) -> Result<(), PawError> {
        self.write(format!("{line}\n").as_bytes())
    }

    /// The whole answer as one document.
    pub(crate) fn document(self, document: &impl Serialize) -> Result<(), PawError> {
        let text =
            serde_json::to_string_pretty(document).map_err(|error| PawError::IoError(error.to_string()))?;
        self.say(&text)
    }

    /// Bytes of the answer, as they are.
    #[expect(clippy::unused_self, reason = "there is one way out, and it is a value")]
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), PawError> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(PawError::IoError(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// What is going on, beside the answer.
    #[expect(clippy::unused_self, reason = "there is one way out, and it is a value")]
    pub(crate) fn note(self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    pub(crate) fn warn(self, line: &str) {
        self.note(&format!("{}: {line}", paint(self.colour_err, Style::Doubtful, "warning")));
    }

    /// Says what went wrong, as a document where one was asked for, and returns the exit code.
    pub(crate) fn fail(self, error: &PawError) -> u8 {
        if self.json {
            self.fail_with(json_code(error), &error.to_string());
        } else if matches!(error, PawError::UserCancelled) {
            self.note(&error.to_string());
        } else {
            self.note(&format!("{}: {error}", paint(self.colour_err, Style::Bad, "error")));
        }
        error.exit_code()
    }

    /// The failure as the one JSON document. Says whether it could be written.
    pub(crate) fn fail_with(self, code: &str, message: &str) -> bool {
        self.document(&json!({"error": {"code": code, "message": message}})).is_ok()
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        paint(self.colour_out, style, text)
    }
}

fn json_code(error: &PawError) -> &'static str {
    match error {
        PawError::UserCancelled => "CANCELLED",
        PawError::CliNotFound(_) | PawError::NoCLIsFound => "NOT_FOUND",
        PawError::ConfigError(_) | PawError::BranchError(_) => "INVALID_ARGUMENT",
        _ if error.exit_code() == EXIT_OK => "OK",
        _ => "FAILED",
    }
}

fn paint(colour: bool, style: Style, text: &str) -> String {
    let code = match style {
        Style::Bold => "1",
        Style::Dim => "2",
        Style::Good => "32",
        Style::Doubtful => "33",
        Style::Bad => "1;31",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Sends the trace to stderr: by `-v`, or by `GIT_PAW_LOG` as `debug` or `paw::process=debug`.
pub(crate) fn start_trace(verbose: u8) {
    let wished = std::env::var("GIT_PAW_LOG").ok().and_then(|wish| wish.parse::<Targets>().ok());
    let filter = match (verbose, wished) {
        (0, None) => return,
        (0, Some(wished)) => wished,
        (1, _) => Targets::new().with_target("paw", LevelFilter::DEBUG),
        (_, _) => Targets::new().with_default(LevelFilter::TRACE),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).without_time().with_target(false);
    let _ = tracing_subscriber::registry()
        .with(lines.with_ansi(io::stderr().is_terminal()))
        .with(filter)
        .try_init();
}
