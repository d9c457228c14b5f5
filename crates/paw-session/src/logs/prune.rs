//! Which logs go: those nobody has written to for long, then the oldest until the rest is small enough.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use paw_core::SessionName;

use super::{Log, Logs, LogsError};

/// How much is kept; nothing means without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub bytes: Option<u64>,
    pub age: Option<SignedDuration>,
}

impl Limits {
    /// As configured: zero means without limit.
    pub fn configured(megabytes: u64, days: u32) -> Self {
        let days = i64::from(days);
        Self {
            bytes: (megabytes > 0).then(|| megabytes.saturating_mul(1024 * 1024)),
            age: (days > 0).then(|| SignedDuration::from_hours(24 * days)),
        }
    }
}

/// What was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    pub files: Vec<PathBuf>,
    pub bytes: u64,
    /// What could not be deleted, and why not.
    pub problems: Vec<String>,
}

/// Deletes what the limits do not allow. Sessions that live are left alone, and so is everything when the directory
/// is not inside the repository: its configuration must not decide what else is deleted.
pub fn prune(
    repo_root: &Path,
    dir: &Path,
    limits: Limits,
    now: Timestamp,
    living: &[SessionName],
) -> Result<Pruned, LogsError> {
    let inside = matches!(
        (repo_root.canonicalize(), dir.canonicalize()),
        (Ok(root), Ok(dir)) if dir.starts_with(&root) && dir != root
    );
    if !inside {
        return Ok(Pruned::default());
    }
    let mut pruned = Pruned::default();
    let mut emptied = BTreeSet::new();
    for log in too_many(&Logs::load(dir)?, limits, now, living) {
        match fs::remove_file(&log.path) {
            Ok(()) => {
                emptied.extend(log.path.parent().map(Path::to_path_buf));
                pruned.bytes += log.bytes;
                pruned.files.push(log.path);
            }
            Err(error) => pruned.problems.push(format!("cannot delete {}: {error}", log.path.display())),
        }
    }
    for dir in emptied {
        // One that still holds something stays.
        let _ = fs::remove_dir(dir);
    }
    Ok(pruned)
}

/// The logs that go, oldest first.
pub fn too_many(logs: &Logs, limits: Limits, now: Timestamp, living: &[SessionName]) -> Vec<Log> {
    let lives = |session: &str| living.iter().any(|name| name.as_str() == session);
    let total: u64 = logs.sessions.iter().map(super::SessionLogs::bytes).sum();
    let dead = logs.sessions.iter().filter(|session| !lives(&session.session));
    let mut dead: Vec<_> = dead.flat_map(|session| &session.logs).collect();
    dead.sort_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
    let mut left = total;
    let goes = |log: &&&Log| {
        let old = limits.age.is_some_and(|age| now.duration_since(log.modified) > age);
        let goes = old || limits.bytes.is_some_and(|most| left > most);
        if goes {
            left = left.saturating_sub(log.bytes);
        }
        goes
    };
    dead.iter().filter(goes).map(|log| (*log).clone()).collect()
}
