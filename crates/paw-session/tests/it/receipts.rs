//! Receipts on a real disk.

use std::fs;
use std::path::Path;

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

#[test]
fn save_and_load_round_trip() {
    let (_dir, receipts) = place();
    let saved = receipt("paw-app", "/code/app");
    receipts.save(&saved).unwrap();
    assert_eq!(receipts.load(&saved.session_name).unwrap(), Some(saved));
}

#[test]
fn saved_session_has_all_recovery_fields() {
    let (_dir, receipts) = place();
    let mut saved = receipt("paw-app", "/code/app");
    saved.broker_port = Some(9119);
    saved.broker_bind = Some("127.0.0.1".into());
    saved.broker_log_path = Some("/code/app/.git-paw/broker.log".into());
    receipts.save(&saved).unwrap();
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
    receipts.save(&saved).unwrap();
    saved.status = SessionStatus::Stopped;
    receipts.save(&saved).unwrap();
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
    receipts.save(&receipt("paw-one", "/code/one")).unwrap();
    receipts.save(&receipt("paw-two", "/code/two")).unwrap();
    let found = receipts.find_for_repo(Path::new("/code/two")).unwrap().unwrap();
    assert_eq!(found.session_name.as_str(), "paw-two");
}

#[test]
fn find_session_returns_none_for_unknown_repo() {
    let (_dir, receipts) = place();
    assert_eq!(receipts.find_for_repo(Path::new("/code/one")).unwrap(), None, "no directory at all");
    receipts.save(&receipt("paw-one", "/code/one")).unwrap();
    assert_eq!(receipts.find_for_repo(Path::new("/code/other")).unwrap(), None);
}

#[test]
fn a_repository_is_found_under_every_name_of_its_path() {
    let (dir, receipts) = place();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    receipts.save(&receipt("paw-one", real.to_str().unwrap())).unwrap();
    assert!(receipts.find_for_repo(&link).unwrap().is_some());
}

#[test]
fn of_two_receipts_for_one_repository_the_running_one_is_taken() {
    let (_dir, receipts) = place();
    let running = receipt("paw-b", "/code/app");
    let mut stopped = receipt("paw-c", "/code/app");
    stopped.status = SessionStatus::Stopped;
    stopped.created_at = "2026-01-15T10:30:00Z".parse().unwrap();
    receipts.save(&stopped).unwrap();
    receipts.save(&running).unwrap();
    assert_eq!(receipts.find_for_repo(Path::new("/code/app")).unwrap(), Some(running));
}

#[test]
fn delete_removes_session() {
    let (_dir, receipts) = place();
    let saved = receipt("paw-app", "/code/app");
    receipts.save(&saved).unwrap();
    receipts.delete(&saved.session_name).unwrap();
    assert_eq!(receipts.load(&saved.session_name).unwrap(), None);
}

#[test]
fn delete_nonexistent_is_idempotent() {
    let (_dir, receipts) = place();
    receipts.delete(&name("paw-none")).unwrap();
}

#[test]
fn a_damaged_receipt_is_skipped_and_named_and_never_deleted() {
    let (dir, receipts) = place();
    receipts.save(&receipt("paw-good", "/code/good")).unwrap();
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
fn a_receipt_of_a_newer_version_for_this_repository_is_an_error_that_leaves_the_file_alone() {
    let (dir, receipts) = place();
    receipts.save(&receipt("paw-app", "/code/app")).unwrap();
    let file = dir.path().join("sessions/paw-app.json");
    let newer = fs::read_to_string(&file).unwrap().replace("\"format\": 1", "\"format\": 7");
    fs::write(&file, &newer).unwrap();
    let error = receipts.find_for_repo(Path::new("/code/app")).unwrap_err().to_string();
    assert!(error.contains("paw-app.json") && error.contains("newer version"), "{error}");
    assert_eq!(receipts.find_for_repo(Path::new("/code/other")).unwrap(), None);
    assert!(receipts.update(&name("paw-app"), |receipt| receipt.mouse = false).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
}

#[test]
fn two_changes_at_once_lose_neither() {
    let (_dir, receipts) = place();
    receipts.save(&receipt("paw-app", "/code/app")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let add = |receipt: &mut Receipt| receipt.worktrees.push(receipt.worktrees[0].clone());
                    receipts.update(&name("paw-app"), add).unwrap().unwrap();
                }
            });
        }
    });
    assert_eq!(receipts.load(&name("paw-app")).unwrap().unwrap().worktrees.len(), 22);
}

#[test]
fn a_receipt_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, receipts) = place();
    receipts.save(&receipt("paw-app", "/code/app")).unwrap();
    let mode = fs::metadata(dir.path().join("sessions/paw-app.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
