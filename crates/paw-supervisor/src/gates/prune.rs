//! Deletes old gate results and checkouts. Both can be recreated.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use paw_core::paths::{PawDir, lock_of};
use paw_host::files::{self, Access, Lock};

use super::record::GateRecords;

/// The number of commits whose results are kept.
const MOST_RECORDS: usize = 200;
/// The number of repositories whose checkouts are kept.
const MOST_CHECKOUTS: usize = 20;
/// Anything unused for longer is deleted.
const OLDEST: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The file whose age is the last use of a repository's checkouts.
const USED: &str = "used";

/// Deletes old and excess results and checkouts, except the results of `current` commits and the checkouts in `keep_in`.
pub(super) fn prune(records: &GateRecords, keep_in: &Path, current: &[&str], now: Timestamp) {
    for dir in find_expired(list_dirs(&records.files().gates(), PawDir::GATE_RESULT), MOST_RECORDS, now) {
        if !current.iter().any(|commit| dir.ends_with(commit)) {
            remove(&dir);
        }
    }
    if !keep_in.is_dir() {
        return;
    }
    let _ = files::write_atomic(&keep_in.join(USED), now.to_string().as_bytes(), Access::Usual);
    let others = keep_in.parent().map(|all| list_dirs(all, USED)).unwrap_or_default();
    for dir in find_expired(others, MOST_CHECKOUTS, now).iter().filter(|dir| *dir != keep_in) {
        // A process that uses a checkout holds its lock.
        let locks = ["branch", "main"].map(|kept| Lock::try_take(&lock_of(&dir.join(kept))));
        if locks.iter().all(|lock| matches!(lock, Ok(Some(_)))) {
            remove(dir);
        }
    }
}

fn remove(dir: &Path) {
    if let Err(error) = fs::remove_dir_all(dir) {
        tracing::debug!(target: "paw::gates", "cannot remove {}: {error}", dir.display());
    }
}

/// The directories in `all`, each with when its `sign` was written; one without a sign with its own time.
fn list_dirs(all: &Path, sign: &str) -> Vec<(PathBuf, Timestamp)> {
    let time = |path: &Path| {
        let modified = fs::metadata(path).and_then(|found| found.modified()).ok()?;
        Timestamp::try_from(modified).ok()
    };
    let entries = fs::read_dir(all).into_iter().flatten().filter_map(Result::ok);
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let dirs = dirs.map(|entry| entry.path());
    dirs.filter_map(|dir| time(&dir.join(sign)).or_else(|| time(&dir)).map(|at| (dir, at))).collect()
}

/// Those that are too old, and the oldest of those that are too many.
fn find_expired(mut entries: Vec<(PathBuf, Timestamp)>, most: usize, now: Timestamp) -> Vec<PathBuf> {
    entries.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let is_old = |at: Timestamp| now.duration_since(at) > OLDEST;
    let kept = entries.iter().take(most).take_while(|(_, at)| !is_old(*at)).count();
    entries.drain(kept..).map(|(dir, _)| dir).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 24 * 3600;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    proptest! {
        #[test]
        fn prune_keeps_only_the_newest_entries(
            ages in proptest::collection::vec(0..60 * DAY, 0..30), most in 0..20usize
        ) {
            let now = 100 * DAY;
            let entries: Vec<_> =
                ages.iter().enumerate().map(|(n, age)| (PathBuf::from(n.to_string()), at(now - age))).collect();
            let gone = find_expired(entries.clone(), most, at(now));
            let kept: Vec<_> = entries.iter().filter(|(dir, _)| !gone.contains(dir)).collect();
            prop_assert!(kept.len() <= most);
            prop_assert!(kept.iter().all(|(_, at)| now - at.as_second() <= 30 * DAY));
            let oldest = kept.iter().map(|(_, at)| *at).min();
            let newest = entries.iter().filter(|(dir, _)| gone.contains(dir)).map(|(_, at)| *at).max();
            prop_assert!(oldest.is_none() || newest.is_none() || oldest >= newest);
            prop_assert!(kept.len() == most || newest.is_none_or(|at| now - at.as_second() > 30 * DAY));
        }
    }

    #[test]
    fn prune_deletes_old_checkouts_that_are_not_locked() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().join("verify");
        let now = paw_host::clock::now();
        for name in ["mine", "busy", "idle"] {
            for part in ["branch", "main"] {
                files::write_atomic(&all.join(name).join(part).join("file"), b"x", Access::Usual).unwrap();
            }
        }
        let busy = Lock::wait(&all.join("busy/branch.lock")).unwrap();
        let later = now.checked_add(SignedDuration::from_hours(40 * 24)).unwrap();
        let records = GateRecords::of(dir.path());
        prune(&records, &all.join("mine"), &[], later);
        let there = |name: &str| all.join(name).exists();
        assert!(there("mine") && there("busy") && !there("idle"));
        drop(busy);
    }

    #[test]
    fn prune_deletes_old_results_but_keeps_current_ones() {
        let dir = tempfile::tempdir().unwrap();
        let records = GateRecords::of(dir.path());
        let now = paw_host::clock::now();
        for commit in ["aaa", "bbb"] {
            records.save(&super::super::record::GateRecord::new(commit, "feat/x", now)).unwrap();
        }
        let later = now.checked_add(SignedDuration::from_hours(31 * 24)).unwrap();
        prune(&records, &dir.path().join("none"), &["bbb"], later);
        assert_eq!(records.load("aaa").unwrap(), None);
        assert!(records.load("bbb").unwrap().is_some());
    }
}
