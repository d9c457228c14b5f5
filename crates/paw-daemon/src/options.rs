//! Where everything is that a daemon uses.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use paw_host::files::Dirs;

/// How long running calls may take to finish once the daemon is to stop.
const GRACE: Duration = Duration::from_secs(10);

/// What a daemon needs to know before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonOptions {
    pub socket: PathBuf,
    /// Registry, approvals, lock and log. There is one daemon for each.
    pub data_dir: PathBuf,
    /// The user's own configuration file.
    pub user_config: PathBuf,
    /// Where agent CLIs are looked for.
    pub search_path: OsString,
    pub grace: Duration,
}

impl DaemonOptions {
    pub fn new(dirs: &Dirs, search_path: impl Into<OsString>) -> Self {
        Self {
            socket: dirs.runtime().daemon_socket(),
            data_dir: dirs.data_dir().to_path_buf(),
            user_config: dirs.config_file(),
            search_path: search_path.into(),
            grace: GRACE,
        }
    }
}
