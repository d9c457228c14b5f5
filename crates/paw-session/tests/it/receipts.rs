//! Receipts on a real disk.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use paw_core::{AgentReceipt, BranchName, Receipt, SessionName, SessionStatus};
use paw_session::Receipts;
use tempfile::TempDir;

fn name(text: &str) -> SessionName {
    SessionName::new(text).unwrap()
}

fn receipt(session: &str, repo: &str) -> Receipt {
    let mut receipt =
        Receipt::new(name(session), repo.into(), "app", "2025-01-15T10:30:00Z".parse().unwrap());
    receipt.worktrees = ["feat/a", "feat/b"]
        .map(|branch| AgentReceipt::new(BranchName::new(branch).unwrap(), "/w".into(), "claude"))
        .into();
    receipt
}

fn place() -> (TempDir, Receipts) {
    let dir = tempfile::tempdir().unwrap();
    let receipts = Receipts::at(dir.path().join("sessions"));
    (dir, receipts)
}

fn save(receipts: &Receipts, receipt: &Receipt) {
    receipts.save(receipt, &receipts.lock().unwrap()).unwrap();
}

fn delete(receipts: &Receipts, name: &SessionName) {
    receipts.delete(name, &receipts.lock().unwrap()).unwrap();
}

#[test]
fn save_and_load_round_trip() {
    let (_dir, receipts) = place();
    let saved = receipt("paw-app", "/code/app");
    save(&receipts, &saved);
    assert_eq!(receipts.load(&saved.session_name).unwrap(), Some(saved));
}

#[test]
fn saved_session_has_all_recovery_fields() {
    let (_dir, receipts) = place();
    let mut saved = receipt("paw-app", "/code/app");
    saved.broker_port = Some(9119);
    saved.broker_bind = Some("127.0.0.1".into());
    saved.broker_log_path = Some("/code/app/.git-paw/broker.log".into());
    save(&receipts, &saved);
    let loaded = receipts.load(&saved.session_name).unwrap().unwrap();
    assert_eq!((loaded.session_name.as_str(), loaded.project_name.as_str()), ("paw-app", "app"));
    assert_eq!(loaded.repo_path, Path::new("/code/app"));
    assert_eq!(loaded.worktrees.len(), 2);
    assert!(loaded.broker_port.is_some() && loaded.broker_bind.is_some() && loaded.broker_log_path.is_some());
}

#[test]
fn saving_again_replaces_previous_state() {
    let (_dir, receipts) = place();
    let mut saved = receipt("paw-app", "/code/app");
    save(&receipts, &saved);
    saved.status = SessionStatus::Stopped;
    save(&receipts, &saved);
    assert_eq!(receipts.load(&saved.session_name).unwrap().unwrap().status, SessionStatus::Stopped);
}

#[test]
fn load_nonexistent_returns_none() {
    let (_dir, receipts) = place();
    assert_eq!(receipts.load(&name("paw-none")).unwrap(), None);
}

#[test]
fn find_correct_session_among_multiple() {
    let (_dir, receipts) = place();
    save(&receipts, &receipt("paw-one", "/code/one"));
    save(&receipts, &receipt("paw-two", "/code/two"));
    let found = receipts.find_for_repo(Path::new("/code/two")).unwrap().unwrap();
    assert_eq!(found.session_name.as_str(), "paw-two");
}

#[test]
fn find_session_returns_none_for_unknown_repo() {
    let (_dir, receipts) = place();
    assert_eq!(receipts.find_for_repo(Path::new("/code/one")).unwrap(), None, "no directory at all");
    save(&receipts, &receipt("paw-one", "/code/one"));
    assert_eq!(receipts.find_for_repo(Path::new("/code/other")).unwrap(), None);
}

#[test]
fn receipt_is_found_through_a_linked_path() {
    let (dir, receipts) = place();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    save(&receipts, &receipt("paw-one", real.to_str().unwrap()));
    assert!(receipts.find_for_repo(&link).unwrap().is_some());
}

#[test]
fn receipt_of_a_running_session_is_preferred() {
    let (_dir, receipts) = place();
    let running = receipt("paw-b", "/code/app");
    let mut stopped = receipt("paw-c", "/code/app");
    stopped.status = SessionStatus::Stopped;
    stopped.created_at = "2026-01-15T10:30:00Z".parse().unwrap();
    save(&receipts, &stopped);
    save(&receipts, &running);
    assert_eq!(receipts.find_for_repo(Path::new("/code/app")).unwrap(), Some(running));
}

#[test]
fn delete_removes_session() {
    let (_dir, receipts) = place();
    let saved = receipt("paw-app", "/code/app");
    save(&receipts, &saved);
    delete(&receipts, &saved.session_name);
    assert_eq!(receipts.load(&saved.session_name).unwrap(), None);
}

#[test]
fn delete_nonexistent_is_idempotent() {
    let (_dir, receipts) = place();
    delete(&receipts, &name("paw-none"));
}

#[test]
fn damaged_receipt_is_reported_and_never_deleted() {
    let (dir, receipts) = place();
    save(&receipts, &receipt("paw-good", "/code/good"));
    let bad = dir.path().join("sessions/paw-bad.json");
    fs::write(&bad, "{\"session_name\": \"paw-b").unwrap();
    fs::write(dir.path().join("sessions/paw-bytes.json"), b"\xff\xfe{").unwrap();
    fs::write(dir.path().join("sessions/notes.txt"), "mine").unwrap();
    let listing = receipts.all().unwrap();
    assert_eq!(listing.receipts.len(), 1);
    assert_eq!(listing.unreadable.len(), 2);
    assert_eq!(listing.unreadable[0].path, bad);
    assert!(listing.has_name(&name("paw-bad")) && !listing.has_name(&name("paw-other")));
    assert!(receipts.find_for_repo(Path::new("/code/good")).unwrap().is_some());
    assert!(bad.exists());
}

#[test]
fn receipt_of_a_newer_version_is_an_error_and_stays_unchanged() {
    let (dir, receipts) = place();
    save(&receipts, &receipt("paw-app", "/code/app"));
    let file = dir.path().join("sessions/paw-app.json");
    let newer = fs::read_to_string(&file).unwrap().replace("\"format\": 1", "\"format\": 7");
    fs::write(&file, &newer).unwrap();
    let error = receipts.find_for_repo(Path::new("/code/app")).unwrap_err().to_string();
    assert!(error.contains("paw-app.json") && error.contains("newer git-paw"), "{error}");
    assert_eq!(receipts.find_for_repo(Path::new("/code/other")).unwrap(), None);
    assert!(
        receipts
            .update(&name("paw-app"), &receipts.lock().unwrap(), |receipt| receipt.mouse = false)
            .is_err()
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
}

#[test]
fn concurrent_receipt_updates_are_both_kept() {
    let (_dir, receipts) = place();
    save(&receipts, &receipt("paw-app", "/code/app"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let add = |receipt: &mut Receipt| receipt.worktrees.push(receipt.worktrees[0].clone());
                    receipts.update(&name("paw-app"), &receipts.lock().unwrap(), add).unwrap().unwrap();
                }
            });
        }
    });
    assert_eq!(receipts.load(&name("paw-app")).unwrap().unwrap().worktrees.len(), 22);
}

/// Starts an update and runs `concurrent` while its closure is running.
fn during_an_update(receipts: &Receipts, concurrent: impl FnOnce() + Send) {
    let (begun, has_begun) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            has_begun.recv().unwrap();
            concurrent();
            // The update may have stopped waiting.
            let _ = done.send(());
        });
        let change = |receipt: &mut Receipt| {
            receipt.mouse = false;
            begun.send(()).unwrap();
            // With locking this times out, because the concurrent operation waits for the update.
            let _ = is_done.recv_timeout(Duration::from_millis(300));
        };
        receipts.update(&name("paw-app"), &receipts.lock().unwrap(), change).unwrap();
    });
}

#[test]
fn receipt_deleted_during_an_update_stays_deleted() {
    let (_dir, receipts) = place();
    save(&receipts, &receipt("paw-app", "/code/app"));
    during_an_update(&receipts, || delete(&receipts, &name("paw-app")));
    assert_eq!(receipts.load(&name("paw-app")).unwrap(), None);
}

#[test]
fn receipt_saved_during_an_update_is_not_overwritten() {
    let (_dir, receipts) = place();
    save(&receipts, &receipt("paw-app", "/code/app"));
    let newer = receipt("paw-app", "/code/moved");
    during_an_update(&receipts, || save(&receipts, &newer));
    assert_eq!(receipts.load(&name("paw-app")).unwrap(), Some(newer));
}

#[test]
fn updating_a_deleted_receipt_does_nothing() {
    let (_dir, receipts) = place();
    save(&receipts, &receipt("paw-app", "/code/app"));
    delete(&receipts, &name("paw-app"));
    assert_eq!(
        receipts
            .update(&name("paw-app"), &receipts.lock().unwrap(), |receipt| receipt.mouse = false)
            .unwrap(),
        None
    );
    assert_eq!(receipts.load(&name("paw-app")).unwrap(), None);
}

#[test]
fn receipt_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, receipts) = place();
    save(&receipts, &receipt("paw-app", "/code/app"));
    let mode = fs::metadata(dir.path().join("sessions/paw-app.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
