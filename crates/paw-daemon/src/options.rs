//! The options of a daemon.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use paw_host::files::Dirs;

/// How long running calls may take to finish during shutdown.
const GRACE: Duration = Duration::from_secs(10);

/// The paths and limits of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonOptions {
    pub socket: PathBuf,
    /// The directory of the registry, approvals, lock and log. Each has at most one daemon.
    pub data_dir: PathBuf,
    /// The user's configuration file.
    pub user_config: PathBuf,
    /// The search path for agent CLIs.
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
