//! Deletes old gate results and checkouts. Both can be recreated.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use paw_core::paths::{GateCheckoutsDir, PawDir};
use paw_host::files::{self, Access, Lock};
use paw_host::{disk, git::Repo};

use super::checkout::{GateCheckouts, name_of};
use super::record::GateRecords;

/// The number of commits whose results are kept.
const MOST_RECORDS: usize = 200;
/// The number of branches of a repository whose checkouts are kept.
const MOST_CHECKOUTS: usize = 30;
/// The number of repositories whose checkouts are kept.
const MOST_REPOSITORIES: usize = 20;
/// Anything unused for longer is deleted.
const OLDEST: SignedDuration = SignedDuration::from_hours(30 * 24);
/// With less free space, all checkouts that are not in use are deleted.
const LEAST_FREE: u64 = 2 << 30;
/// The file whose age is the last use of a repository's checkouts.
const USED: &str = "used";

/// Deletes old and excess results and checkouts, except the results of `current` commits. Checkouts in use are kept.
pub(super) fn prune(records: &GateRecords, checkouts: &GateCheckouts, current: &[&str], now: Timestamp) {
    for dir in find_expired(list_dirs(&records.files().gates(), PawDir::GATE_RESULT), MOST_RECORDS, now) {
        if !current.iter().any(|commit| dir.ends_with(commit)) {
            remove(&dir);
        }
    }
    let dir = checkouts.dir();
    if !dir.path().is_dir() {
        return;
    }
    let _ = files::write_atomic(&dir.path().join(USED), now.to_string().as_bytes(), Access::Usual);
    prune_branches(dir, checkouts.repo(), now);
    let others = dir.path().parent().map(|all| list_dirs(all, USED)).unwrap_or_default();
    for other in find_expired(others, MOST_REPOSITORIES, now).iter().filter(|other| *other != dir.path()) {
        let other = GateCheckoutsDir::of(other);
        // Locks are held until the directory is gone.
        let locks: Option<Vec<_>> =
            list_names(&other).iter().map(|name| Lock::try_take(&other.lock(name)).ok().flatten()).collect();
        if locks.is_some() {
            remove(other.path());
        }
    }
}

/// Deletes the checkouts of branches that are gone, of those unused for long, and all if the disk is full.
fn prune_branches(dir: &GateCheckoutsDir, repo: &Repo, now: Timestamp) {
    let Ok(branches) = repo.git().local_branches() else { return };
    let known: BTreeSet<String> = branches.iter().map(name_of).collect();
    let is_full = disk::free_bytes(dir.path()).is_ok_and(|free| free < LEAST_FREE);
    let names = list_names(dir);
    let used = |name: &String| modified(&dir.branch_file(name)).map(|at| (PathBuf::from(name), at));
    let expired = find_expired(names.iter().filter_map(used).collect(), MOST_CHECKOUTS, now);
    for name in names {
        if is_full || !known.contains(&name) || expired.contains(&PathBuf::from(&name)) {
            remove_checkout(dir, &name);
        }
    }
}

fn remove_checkout(dir: &GateCheckoutsDir, name: &str) {
    // A process that uses a checkout holds its lock. The lock file stays, because another process may be opening it.
    if let Ok(Some(_lock)) = Lock::try_take(&dir.lock(name)) {
        for path in [dir.checkout(name), dir.saved(name), dir.state(name)] {
            remove(&path);
        }
    }
}

/// The names of the checkouts in a directory.
fn list_names(dir: &GateCheckoutsDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| GateCheckoutsDir::name_of(&name).map(str::to_owned)).collect()
}

fn remove(path: &Path) {
    if let Err(error) = files::remove_all(path) {
        tracing::debug!(target: "paw::gates", "{error}");
    }
}

fn modified(path: &Path) -> Option<Timestamp> {
    Timestamp::try_from(fs::metadata(path).and_then(|found| found.modified()).ok()?).ok()
}

/// The directories in `all`, each with when its `sign` was written; one without a sign with its own time.
fn list_dirs(all: &Path, sign: &str) -> Vec<(PathBuf, Timestamp)> {
    let entries = fs::read_dir(all).into_iter().flatten().filter_map(Result::ok);
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let dirs = dirs.map(|entry| entry.path());
    dirs.filter_map(|dir| modified(&dir.join(sign)).or_else(|| modified(&dir)).map(|at| (dir, at))).collect()
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

    fn checkouts(dir: &GateCheckoutsDir, repo: &paw_testkit::TestRepo) -> GateCheckouts {
        let repo = Repo::discover(&repo.root).unwrap();
        GateCheckouts::new(&repo, dir.path(), &crate::gates::StopRequest::default())
    }

    fn add(dir: &GateCheckoutsDir, branch: &str) -> String {
        let name = name_of(&paw_core::BranchName::new(branch).unwrap());
        files::write_atomic(&dir.checkout(&name).join("file"), b"x", Access::Usual).unwrap();
        files::write_atomic(&dir.branch_file(&name), branch.as_bytes(), Access::Usual).unwrap();
        name
    }

    #[test]
    fn prune_deletes_checkouts_of_deleted_branches_and_keeps_those_in_use() {
        let sandbox = paw_testkit::Sandbox::new();
        let repo = sandbox.repo("app");
        let dir = GateCheckoutsDir::of(sandbox.root().join("verify/app"));
        let [main, gone, busy] = ["main", "feat/gone", "feat/busy"].map(|branch| add(&dir, branch));
        let lock = Lock::wait(&dir.lock(&busy)).unwrap();
        let records = GateRecords::of(&repo.root.join(".git"));
        prune(&records, &checkouts(&dir, &repo), &[], paw_host::clock::now());
        let there = |name: &String| dir.checkout(name).exists() && dir.state(name).exists();
        assert!(there(&main) && there(&busy) && !there(&gone));
        drop(lock);
        let later = paw_host::clock::now().checked_add(SignedDuration::from_hours(31 * 24)).unwrap();
        prune(&records, &checkouts(&dir, &repo), &[], later);
        assert!(!there(&main) && !there(&busy));
    }

    #[test]
    fn prune_deletes_old_checkouts_of_other_repositories_that_are_not_locked() {
        let sandbox = paw_testkit::Sandbox::new();
        let repo = sandbox.repo("app");
        let [mine, busy, idle] = ["mine", "busy", "idle"]
            .map(|name| GateCheckoutsDir::of(sandbox.root().join("verify").join(name)));
        let [_, name, _] = [&mine, &busy, &idle].map(|dir| add(dir, "main"));
        let lock = Lock::wait(&busy.lock(&name)).unwrap();
        let later = paw_host::clock::now().checked_add(SignedDuration::from_hours(40 * 24)).unwrap();
        prune(&GateRecords::of(&repo.root.join(".git")), &checkouts(&mine, &repo), &[], later);
        assert!(mine.path().exists() && busy.path().exists() && !idle.path().exists());
        drop(lock);
    }

    #[test]
    fn prune_deletes_old_results_but_keeps_current_ones() {
        let sandbox = paw_testkit::Sandbox::new();
        let repo = sandbox.repo("app");
        let records = GateRecords::of(&repo.root.join(".git"));
        let now = paw_host::clock::now();
        for commit in ["aaa", "bbb"] {
            records.save(&super::super::record::GateRecord::new(commit, "feat/x", now)).unwrap();
        }
        let later = now.checked_add(SignedDuration::from_hours(31 * 24)).unwrap();
        let dir = GateCheckoutsDir::of(sandbox.root().join("none"));
        prune(&records, &checkouts(&dir, &repo), &["bbb"], later);
        assert!(!records.file("aaa").exists() && records.file("bbb").exists());
    }
}
