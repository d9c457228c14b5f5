//! Damaged receipts and changed repositories: clear errors, and no loss of work.

use std::fs;

use serde_json::json;

use super::World;

#[test]
fn truncated_receipt_is_reported_and_not_changed() {
    let world = World::new();
    let half = fs::read_to_string(world.receipt_path()).unwrap();
    let half = &half[..half.len() / 2];
    fs::write(world.receipt_path(), half).unwrap();
    let ran = world.paw(&["status"]);
    assert!(ran.code == 0 && ran.stderr.contains("sessions/paw-app.json"), "{ran}");
    assert_eq!(world.paw(&["purge", "--force"]).stdout, "No session to purge for this repo.\n");
    assert_eq!(world.paw(&["purge", "--stale", "--force"]).stdout, "No stale sessions.\n");
    assert_eq!(fs::read_to_string(world.receipt_path()).unwrap(), half);
}

#[test]
fn receipt_of_a_newer_version_is_refused_and_not_changed() {
    let world = World::new();
    let mut receipt = world.receipt();
    receipt["format"] = json!(99);
    fs::write(world.receipt_path(), receipt.to_string()).unwrap();
    for args in
        [&["status"][..], &["stop", "--force"], &["purge", "--force"], &["pause"], &["remove", "feat/a"]]
    {
        let ran = world.paw(args);
        assert!(ran.code == 1 && ran.stderr.contains("newer git-paw"), "{args:?}: {ran}");
    }
    assert_eq!(fs::read_to_string(world.receipt_path()).unwrap(), receipt.to_string());
    assert!(world.is_alive());
}

#[test]
fn session_of_a_moved_repository_is_found_by_its_worktrees() {
    let mut world = World::new();
    world.paw(&["stop"]);
    let new = world.sandbox.root().join("moved");
    fs::rename(&world.repo.root, &new).unwrap();
    world.repo.root = new;
    let ran = world.paw(&["status"]);
    assert!(ran.stdout.contains("paw-app stopped") && ran.stderr.contains("[SANDBOX]/app"), "{ran}");
    let ran = world.paw(&["purge", "--force"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!world.worktree("feat/a").exists() && !world.receipt_path().exists(), "{ran}");
}

#[test]
fn status_and_purge_work_without_tmux() {
    let world = World::new();
    world.kill_tmux();
    world.sandbox.uninstall_tool("tmux");
    assert_eq!(world.status()["status"], json!("stopped"));
    let ran = world.paw(&["purge", "--force"]);
    assert!(ran.code == 0 && !world.worktree("feat/a").exists(), "{ran}");
}

#[test]
fn purge_removes_two_receipts_of_one_repository_one_by_one() {
    let world = World::new();
    let mut older = world.receipt();
    older["session_name"] = json!("paw-app-2");
    older["created_at"] = json!("2020-01-01T00:00:00Z");
    older["status"] = json!("stopped");
    older["worktrees"] = json!([]);
    fs::write(world.receipt_path().with_file_name("paw-app-2.json"), older.to_string()).unwrap();
    assert_eq!(world.status()["session"], json!("paw-app"));
    assert_eq!(world.paw(&["purge", "--force"]).stdout, "Purged session 'paw-app'.\n");
    assert_eq!(world.paw(&["purge", "--force"]).stdout, "Purged session 'paw-app-2'.\n");
}

#[test]
fn purge_works_after_worktrees_and_branches_were_deleted_by_hand() {
    let world = World::new();
    world.paw(&["stop"]);
    fs::remove_dir_all(world.worktree("feat/a")).unwrap();
    world.repo.git(["worktree", "prune"]);
    world.repo.git(["branch", "-D", "feat/a"]);
    fs::remove_dir_all(world.worktree("feat/b")).unwrap();
    let ran = world.paw(&["purge", "--force"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Purged session 'paw-app'.\n"), "{ran}");
    assert_eq!(world.repo.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn purge_does_not_delete_a_foreign_file_named_in_a_receipt() {
    let world = World::new();
    let precious = world.sandbox.write("precious", "precious");
    let mut receipt = world.receipt();
    receipt["broker_log_path"] = json!(precious);
    fs::write(world.receipt_path(), receipt.to_string()).unwrap();
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(precious.exists());
}
