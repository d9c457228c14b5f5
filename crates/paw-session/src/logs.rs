//! Logs of pane output: file names, cleanup, and conversion to plain text.
//!
//! - [`append`]: writes a log, up to a size
//! - [`file_name`]: converts between branches and file names
//! - [`list`]: lists logs and finds one by name
//! - [`prepare_paths()`]: creates the files of logs
//! - [`strip`]: converts terminal output to text
//! - [`prune`]: deletes old logs

pub mod append;
pub mod file_name;
pub mod list;
mod paths;
pub mod prune;
pub mod strip;

use std::fs::File;
use std::io::{self, BufRead as _, Read, Write};
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport, SessionName};

pub use file_name::LogOwner;
pub use list::{PaneLog, RepoLogs, SessionLogs};
pub use paths::prepare_paths;
pub use prune::{LogLimits, PrunedLogs};
pub use strip::{EscapeStripper, KeptEscapes};

/// Why a log cannot be found, read or deleted.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    #[error("no logs in {}", .0.display())]
    None(PathBuf),
    #[error("no logs of session '{wanted}'")]
    NoSession { wanted: String, known: String },
    #[error("no log of '{wanted}' in session '{session}'")]
    NoLog { wanted: String, session: String, known: String },
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl LogsError {
    fn when(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

impl Diagnostic for LogsError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::Internal, self);
        match self {
            Self::None(_) => {
                report.hint("set [logging] enabled = true in .git-paw/config.toml and start a session")
            }
            Self::NoSession { known, .. } | Self::NoLog { known, .. } => {
                report.hint(format!("available: {known}"))
            }
            Self::Io { .. } => report,
        }
    }
}

/// The log directory of a repository.
pub fn log_dir(repo_root: &Path, log_dir: &Path) -> PathBuf {
    repo_root.join(log_dir)
}

/// The log file of one pane.
pub fn log_path(logs: &Path, session: &SessionName, owner: &LogOwner) -> PathBuf {
    logs.join(session.as_str()).join(owner.file_name())
}

/// Both parts of a log, without the note between them.
fn open_parts(log: &Path) -> io::Result<Box<dyn Read>> {
    let mut current = io::BufReader::new(File::open(log)?);
    let Ok(earlier) = File::open(append::earlier_part(log)) else { return Ok(Box::new(current)) };
    if append::is_note(current.fill_buf()?) {
        current.skip_until(b'\n')?;
    }
    Ok(Box::new(earlier.chain(current)))
}

/// Writes a log as text to `out` in chunks. Returns false if the reader closed the pipe before the end.
pub fn copy(log: &Path, keep: KeptEscapes, out: &mut impl Write) -> Result<bool, LogsError> {
    let mut file = open_parts(log).map_err(LogsError::when("read", log))?;
    let mut strip = EscapeStripper::new(keep);
    let mut buffer = vec![0; 64 * 1024];
    let mut text = String::new();
    loop {
        let read = match file.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LogsError::when("read", log)(error)),
        };
        if read == 0 {
            strip.finish(&mut text);
        } else {
            strip.push(&buffer[..read], &mut text);
        }
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            Err(error) => return Err(LogsError::when("print", log)(error)),
            Ok(()) => text.clear(),
        }
        if read == 0 {
            return Ok(true);
        }
    }
}
