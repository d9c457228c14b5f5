//! The daemon's log file, `daemon.log` in the data directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_core::paths::DataDir;
use paw_host::files::{self, FileError};
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A larger log is rotated at the next start; one old log is kept.
const LONGEST: u64 = 8 * 1024 * 1024;

pub fn file(data_dir: &Path) -> PathBuf {
    DataDir::of(data_dir).daemon_log()
}

/// A layer that writes to the log file, for callers with their own subscriber.
pub fn layer<S>(data_dir: &Path) -> Result<impl Layer<S>, FileError>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let file = Arc::new(open(&file(data_dir))?);
    Ok(fmt::layer().with_ansi(false).with_writer(file).with_filter(ours(LevelFilter::INFO)))
}

/// Installs a subscriber that writes to the log file, and warnings also to standard error. Has no effect if this process
/// already has a subscriber.
pub fn init(data_dir: &Path) -> Result<(), FileError> {
    let people = fmt::layer().with_writer(io::stderr).with_target(false).without_time();
    let people = people.with_filter(ours(LevelFilter::WARN));
    let _ = tracing_subscriber::registry().with(layer(data_dir)?).with(people).try_init();
    Ok(())
}

/// Our crates at `level`, other crates at WARN.
fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_default(LevelFilter::WARN).with_target("paw", level)
}

fn open(path: &Path) -> Result<File, FileError> {
    if let Some(dir) = path.parent() {
        files::create_dir(dir)?;
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > LONGEST) {
        let _ = fs::rename(path, path.with_extension("log.old"));
    }
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    opened.map_err(|source| FileError { action: "open", path: path.to_path_buf(), source })
}
