//! The only way to stdout and stderr: one JSON document or lines of text, with colour on terminals only. A closed pipe
//! is not an error. Lines are sanitized here, so that text from agents and repositories cannot control the terminal.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paw_core::{PawError, text};
use paw_host::process::redirect_stderr;
use paw_session::session_process::{self, LARGEST_LOG};
use serde::Serialize;
use serde_json::Value;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How a word is highlighted on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Dim,
    Success,
    Warning,
    Error,
    /// For pictures that need both colours, whatever those of the terminal are.
    WhiteOnBlack,
}

const ESCAPE: char = '\u{1b}';
const RESET: &str = "\x1b[0m";

impl Style {
    const ALL: [Self; 6] =
        [Self::Bold, Self::Dim, Self::Success, Self::Warning, Self::Error, Self::WhiteOnBlack];

    fn code(self) -> &'static str {
        match self {
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Success => "\x1b[32m",
            Self::Warning => "\x1b[33m",
            Self::Error => "\x1b[1;31m",
            Self::WhiteOnBlack => "\x1b[97;40m",
        }
    }
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

    /// Whether stdout may have colour.
    pub(crate) fn has_colour(self) -> bool {
        self.colour_out
    }

    /// Prints one or more lines to stdout. Unsafe characters are replaced; colours of [`Output::paint`] stay.
    pub(crate) fn say(self, line: &str) -> Result<(), PawError> {
        self.write(format!("{}\n", safe(line, self.colour_out)).as_bytes())
    }

    /// Prints the whole answer as one JSON document.
    pub(crate) fn document(self, document: &impl Serialize) -> Result<(), PawError> {
        let document = serde_json::to_string_pretty(document).map_err(not_json)?;
        self.write(format!("{}\n", text::json(&document)).as_bytes())
    }

    /// Writes bytes to stdout unchanged.
    #[expect(clippy::unused_self, reason = "all output goes through an `Output` value")]
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), PawError> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(PawError::internal(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Prints a table with a header row.
    pub(crate) fn table<const N: usize>(
        self,
        titles: [&str; N],
        rows: Vec<[String; N]>,
    ) -> Result<(), PawError> {
        let rows = rows.into_iter().map(|row| row.map(|cell| text::line(&cell).into_owned()));
        let all: Vec<_> = [titles.map(str::to_owned)].into_iter().chain(rows).collect();
        let mut lines = columns(&all);
        lines[0] = self.paint(Style::Bold, &lines[0]);
        self.say(&lines.join("\n"))
    }

    /// Prints a path byte for byte.
    pub(crate) fn say_path(self, path: &Path) -> Result<(), PawError> {
        self.write(&[path.as_os_str().as_bytes(), b"\n"].concat())
    }

    /// Prints a progress line to stderr, on a terminal only.
    pub(crate) fn progress(self, line: &str) {
        if io::stderr().is_terminal() {
            self.note(&paint(self.colour_err, Style::Dim, line));
        }
    }

    /// Prints a line to stderr. Sanitized like [`Output::say`].
    pub(crate) fn note(self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", safe(line, self.colour_err));
    }

    pub(crate) fn warn(self, line: &str) {
        self.note(&format!("{}: {line}", paint(self.colour_err, Style::Warning, "warning")));
    }

    /// Prints an error, as a JSON document with `--json`, and returns the exit code.
    pub(crate) fn fail(self, error: &PawError) -> u8 {
        let report = error.report();
        if self.json {
            let _ = self.document(&report.document());
        } else if error.is_cancelled() {
            self.note(&report.to_string());
        } else {
            self.note(&format!("{}: {report}", paint(self.colour_err, Style::Error, "error")));
        }
        report.code.exit_code()
    }

    /// Like [`Output::paint`], for stderr.
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
    PawError::internal(format!("cannot write the answer as JSON: {error}"))
}

/// Pads every column except the last to its widest cell.
fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| text::width(&row[column])).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N.saturating_sub(1)).map(width).chain([0]).collect();
    let padded = |(cell, width): (&String, &usize)| {
        format!("{cell}{}", " ".repeat(width.saturating_sub(text::width(cell))))
    };
    let line = |row: &[String; N]| row.iter().zip(&widths).map(padded).collect::<Vec<_>>().join("  ");
    rows.iter().map(line).collect()
}

fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn paint(colour: bool, style: Style, text: &str) -> String {
    if colour { format!("{}{text}{RESET}", style.code()) } else { text.to_owned() }
}

/// Replaces every unsafe character with U+FFFD. With colour, our own colour codes stay.
fn safe(text: &str, colour: bool) -> Cow<'_, str> {
    if !colour {
        return text::block(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let (before, code) = rest.split_at(at);
        safe.push_str(&text::block(before));
        let own = Style::ALL.map(Style::code).into_iter().chain([RESET]).find(|own| code.starts_with(own));
        safe.push_str(own.unwrap_or("\u{fffd}"));
        rest = &code[own.map_or(ESCAPE.len_utf8(), str::len)..];
    }
    safe.push_str(&text::block(rest));
    Cow::Owned(safe)
}

/// Writes log events to stderr: warnings always, more with `-v` or `GIT_PAW_LOG` (`debug`, `paw::process=debug`).
pub(crate) fn start_trace(verbose: u8) {
    let configured = std::env::var("GIT_PAW_LOG").ok().and_then(|value| value.parse::<Targets>().ok());
    let filter = match (verbose, configured) {
        (0, None) => Targets::new().with_target("paw", LevelFilter::WARN),
        (0, Some(configured)) => configured,
        (1, _) => Targets::new().with_target("paw", LevelFilter::DEBUG),
        (_, _) => Targets::new().with_default(LevelFilter::TRACE),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).event_format(TraceLine);
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
}

/// Writes log events of the session's process to stderr, which is its log. A panic is an event, too.
pub(crate) fn start_process_log(path: PathBuf) {
    let configured = std::env::var("GIT_PAW_LOG").ok().and_then(|value| value.parse::<Targets>().ok());
    let usual = || Targets::new().with_default(LevelFilter::WARN).with_target("paw", LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .with_writer(Mutex::new(ProcessLog { path, written: 0 }));
    let _ = tracing_subscriber::registry().with(lines).with(configured.unwrap_or_else(usual)).try_init();
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        tracing::error!(target: "paw::session", "thread '{}' panicked: {panic}", thread.name().unwrap_or("?"));
    }));
}

/// The log of the session's process. It is replaced when it is too large.
struct ProcessLog {
    path: PathBuf,
    written: u64,
}

impl Write for ProcessLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written > LARGEST_LOG
            && let Ok(file) = session_process::open_log(&self.path)
        {
            redirect_stderr(&file)?;
            self.written = 0;
        }
        self.written += bytes.len() as u64;
        io::stderr().lock().write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// Formats a log warning like every other warning; other events start with their level.
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
            Level::ERROR => write!(line, "{}: ", paint(colour, Style::Error, "error"))?,
            Level::WARN => write!(line, "{}: ", paint(colour, Style::Warning, "warning"))?,
            level => write!(line, "{} ", paint(colour, Style::Dim, &level.to_string().to_lowercase()))?,
        }
        let mut fields = String::new();
        context.format_fields(Writer::new(&mut fields), event)?;
        writeln!(line, "{}", text::block(&fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_keeps_only_its_own_colour_codes() {
        let painted = paint(true, Style::Error, "a\u{202e}b");
        let line = format!("{painted}: c\u{1b}[2Jd\u{1b}]0;x\u{7}\n\te");
        assert_eq!(
            safe(&line, true),
            "\u{1b}[1;31ma\u{fffd}b\u{1b}[0m: c\u{fffd}[2Jd\u{fffd}]0;x\u{fffd}\n\te"
        );
    }

    #[test]
    fn output_without_colour_prints_no_escape() {
        assert_eq!(safe("\u{1b}[32mok\u{1b}[0m", false), "\u{fffd}[32mok\u{fffd}[0m");
    }

    #[test]
    fn table_columns_align_with_wide_characters() {
        let rows = [["a", "x"], ["日本", "y"]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows), ["a     x", "日本  y"]);
    }
}
