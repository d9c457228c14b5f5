//! What panes have printed: where it is kept, how long, and how it is read again.
//!
//! - [`file_name`]: the name of a branch's log, and back
//! - [`list`]: which logs there are, and the one somebody means
//! - [`make_way()`]: the way to a log, before anything is written to it
//! - [`strip`]: a terminal's stream as lines of text
//! - [`prune`]: which logs are too old or too many

pub mod file_name;
pub mod list;
mod make_way;
pub mod prune;
pub mod strip;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport, SessionName};

pub use file_name::Whose;
pub use list::{Log, Logs, SessionLogs};
pub use make_way::make_way;
pub use prune::{Limits, Pruned};
pub use strip::{Keep, Strip};

/// A log that cannot be found, read or pruned.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    #[error("no logs in {}", .0.display())]
    None(PathBuf),
    #[error("no logs of a session '{wanted}'")]
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
                report.hint(format!("there are: {known}"))
            }
            Self::Io { .. } => report,
        }
    }
}

/// Where the logs of a repository's sessions are.
pub fn directory(repo_root: &Path, log_dir: &Path) -> PathBuf {
    repo_root.join(log_dir)
}

/// The file that one pane's output goes to.
pub fn path_of(logs: &Path, session: &SessionName, whose: &Whose) -> PathBuf {
    logs.join(session.as_str()).join(whose.file_name())
}

/// Writes a log as text to `out`, a piece at a time, however long it is. Says whether somebody read it to its end.
pub fn copy(log: &Path, keep: Keep, out: &mut impl Write) -> Result<bool, LogsError> {
    let mut file = File::open(log).map_err(LogsError::when("read", log))?;
    let mut strip = Strip::new(keep);
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
            Err(error) => return Err(LogsError::when("write out", log)(error)),
            Ok(()) => text.clear(),
        }
        if read == 0 {
            return Ok(true);
        }
    }
}
