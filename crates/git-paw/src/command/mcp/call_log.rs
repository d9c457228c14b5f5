//! A line for every call, for `--log-file`. Arguments and answers are not written.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use paw_core::{PawError, text};
use paw_host::clock;
use paw_host::files::{self, FileError};

#[derive(Debug)]
pub(super) struct CallLog(Mutex<File>);

impl CallLog {
    pub(super) fn open(path: &Path) -> Result<Self, PawError> {
        let failed = |source| FileError { action: "open", path: path.to_path_buf(), source };
        Ok(Self(Mutex::new(files::open_private_log(path).map_err(failed)?)))
    }

    /// A line that cannot be written is lost; the call is not.
    pub(super) fn add(&self, tool: &str, error: Option<&PawError>) {
        let outcome =
            error.map_or_else(|| "ok".to_owned(), |error| text::line(&error.to_string()).into_owned());
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(file, "{} {} {outcome}", clock::now(), text::line(tool));
    }
}
