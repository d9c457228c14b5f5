//! Deletes logs that are too old, then the oldest ones until the total size is within the limit.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use paw_core::SessionName;

use super::append::earlier_part;
use super::{LogsError, PaneLog, RepoLogs};

/// How much is kept. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogLimits {
    pub bytes: Option<u64>,
    pub age: Option<SignedDuration>,
}

impl LogLimits {
    /// The configured limits, where zero means no limit.
    pub fn configured(megabytes: u64, days: u32) -> Self {
        let days = i64::from(days);
        Self {
            bytes: (megabytes > 0).then(|| megabytes.saturating_mul(1024 * 1024)),
            age: (days > 0).then(|| SignedDuration::from_hours(24 * days)),
        }
    }
}

/// The deleted logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrunedLogs {
    pub files: Vec<PathBuf>,
    pub bytes: u64,
    /// Files that could not be deleted, with the reason.
    pub problems: Vec<String>,
}

/// Deletes logs above the limits, except those of running sessions. Does nothing if the directory is not inside the
/// repository, because the repository's configuration must not delete other files.
pub fn prune(
    repo_root: &Path,
    dir: &Path,
    limits: LogLimits,
    now: Timestamp,
    running: &[SessionName],
) -> Result<PrunedLogs, LogsError> {
    let inside = matches!(
        (repo_root.canonicalize(), dir.canonicalize()),
        (Ok(root), Ok(dir)) if dir.starts_with(&root) && dir != root
    );
    if !inside {
        return Ok(PrunedLogs::default());
    }
    let mut pruned = PrunedLogs::default();
    let mut emptied = BTreeSet::new();
    for log in select_for_pruning(&RepoLogs::load(dir)?, limits, now, running) {
        match fs::remove_file(&log.path) {
            Ok(()) => {
                // A short log has only one part.
                let _ = fs::remove_file(earlier_part(&log.path));
                emptied.extend(log.path.parent().map(Path::to_path_buf));
                pruned.bytes += log.bytes;
                pruned.files.push(log.path);
            }
            Err(error) => pruned.problems.push(format!("cannot delete {}: {error}", log.path.display())),
        }
    }
    for dir in emptied {
        // Fails unless the directory is empty.
        let _ = fs::remove_dir(dir);
    }
    Ok(pruned)
}

/// The logs to delete, oldest first.
pub fn select_for_pruning(
    logs: &RepoLogs,
    limits: LogLimits,
    now: Timestamp,
    running: &[SessionName],
) -> Vec<PaneLog> {
    let is_running = |session: &str| running.iter().any(|name| name.as_str() == session);
    let total: u64 = logs.sessions.iter().map(super::SessionLogs::bytes).sum();
    let ended = logs.sessions.iter().filter(|session| !is_running(&session.session));
    let mut ended: Vec<_> = ended.flat_map(|session| &session.logs).collect();
    ended.sort_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
    let mut left = total;
    let goes = |log: &&&PaneLog| {
        let old = limits.age.is_some_and(|age| now.duration_since(log.modified) > age);
        let goes = old || limits.bytes.is_some_and(|most| left > most);
        if goes {
            left = left.saturating_sub(log.bytes);
        }
        goes
    };
    ended.iter().filter(goes).map(|log| (*log).clone()).collect()
}
