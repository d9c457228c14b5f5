//! The only way to stdout and stderr: one JSON document or lines for people, colour on terminals only, and a
//! closed pipe is no failure.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use paw_core::PawError;
use serde::Serialize;
use serde_json::Value;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
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
        let wanted = colour_wanted();
        Self {
            json,
            colour_out: wanted && io::stdout().is_terminal(),
            colour_err: wanted && io::stderr().is_terminal(),
        }
    }

    pub(crate) fn wants_json(self) -> bool {
        self.json
    }

    /// Whether words of the answer may be set off.
    pub(crate) fn has_colour(self) -> bool {
        self.colour_out
    }

    /// A line of the answer.
    pub(crate) fn say(self, line: &str) -> Result<(), PawError> {
        self.write(format!("{line}\n").as_bytes())
    }

    /// The whole answer as one document.
    pub(crate) fn document(self, document: &impl Serialize) -> Result<(), PawError> {
        let text = serde_json::to_string_pretty(document).map_err(not_json)?;
        self.say(&text)
    }

    /// Bytes of the answer, as they are.
    #[expect(clippy::unused_self, reason = "there is one way out, and it is a value")]
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), PawError> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(PawError::internal(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// A table as the answer; its titles are the first row.
    pub(crate) fn table<const N: usize>(
        self,
        titles: [&str; N],
        rows: Vec<[String; N]>,
    ) -> Result<(), PawError> {
        let all: Vec<_> = [titles.map(str::to_owned)].into_iter().chain(rows).collect();
        let mut lines = columns(&all);
        lines[0] = self.paint(Style::Bold, &lines[0]);
        self.say(&lines.join("\n"))
    }

    /// A path as the answer, byte for byte.
    pub(crate) fn say_path(self, path: &Path) -> Result<(), PawError> {
        self.write(&[path.as_os_str().as_bytes(), b"\n"].concat())
    }

    /// What is going on right now, for whoever watches.
    pub(crate) fn progress(self, line: &str) {
        if io::stderr().is_terminal() {
            self.note(&paint(self.colour_err, Style::Dim, line));
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
        let report = error.report();
        if self.json {
            let _ = self.document(&report.document());
        } else if error.is_cancelled() {
            self.note(&report.to_string());
        } else {
            self.note(&format!("{}: {report}", paint(self.colour_err, Style::Bad, "error")));
        }
        report.code.exit_code()
    }

    /// Like [`Output::paint`], for what goes to stderr.
    pub(crate) fn paint_note(self, style: Style, text: &str) -> String {
        paint(self.colour_err, style, text)
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        paint(self.colour_out, style, text)
    }
}

/// An answer as JSON.
pub(crate) fn to_json(answer: &impl Serialize) -> Result<Value, PawError> {
    serde_json::to_value(answer).map_err(not_json)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn not_json(error: serde_json::Error) -> PawError {
    PawError::internal(format!("the answer cannot be written as JSON: {error}"))
}

/// Every column as wide as its widest cell, the last one as it is.
fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N.saturating_sub(1)).map(width).chain([0]).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ")
    };
    rows.iter().map(line).collect()
}

fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
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

/// Sends the trace to stderr: warnings always, more by `-v`, or by `GIT_PAW_LOG` as `debug` or `paw::process=debug`.
pub(crate) fn start_trace(verbose: u8) {
    let wished = std::env::var("GIT_PAW_LOG").ok().and_then(|wish| wish.parse::<Targets>().ok());
    let filter = match (verbose, wished) {
        (0, None) => Targets::new().with_target("paw", LevelFilter::WARN),
        (0, Some(wished)) => wished,
        (1, _) => Targets::new().with_target("paw", LevelFilter::DEBUG),
        (_, _) => Targets::new().with_default(LevelFilter::TRACE),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).event_format(TraceLine);
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
}

/// A warning looks like every other warning of ours; the rest says its level.
struct TraceLine;

impl<S, N> FormatEvent<S, N> for TraceLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let colour = colour_wanted() && io::stderr().is_terminal();
        match *event.metadata().level() {
            Level::ERROR => write!(line, "{}: ", paint(colour, Style::Bad, "error"))?,
            Level::WARN => write!(line, "{}: ", paint(colour, Style::Doubtful, "warning"))?,
            level => write!(line, "{} ", paint(colour, Style::Dim, &level.to_string().to_lowercase()))?,
        }
        context.format_fields(line.by_ref(), event)?;
        writeln!(line)
    }
}

/// A number with its noun, as people say it.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
