//! Worktree directories that are deleted outside the daemon.

use std::fs;

use paw_daemon::proto::{RemoveWorktreeRequest, SwitchWorktreeRequest, WorktreeInfo};
use serde_json::json;

use crate::world::{TestDaemon, World, told};

async fn deleted(world: &World, daemon: &TestDaemon) -> WorktreeInfo {
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    fs::remove_dir_all(&made.path).unwrap();
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_deleted_externally() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = deleted(&world, &daemon).await;
    for _ in 0..2 {
        let listed = daemon.list().await;
        let told = (listed[0].id.as_str(), listed[0].status.as_str(), listed[0].message.as_deref());
        assert_eq!(told, (made.id.as_str(), "stale", Some("Worktree directory no longer exists")));
    }
    let line = format!("Worktree {} directory missing: {}", made.id, made.path);
    let log = world.log();
    let found: Vec<_> = log.lines().filter(|said| said.contains(&line)).collect();
    assert_eq!(found.len(), 1, "{log}");
    assert!(found[0].contains(" WARN "), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn switch_to_deleted_worktree_fails() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = deleted(&world, &daemon).await;
    let request = SwitchWorktreeRequest { worktree_id: made.id };
    let error = daemon.client.worktrees.clone().switch_worktree(request).await.unwrap_err();
    let message = "Worktree directory no longer exists".to_owned();
    assert_eq!(told(&error), ("FAILED_PRECONDITION".into(), message, json!({ "path": made.path })));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_spawn_fails_for_missing_worktree() {
    let world = World::new();
    world.install_claude("", "");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let talk = daemon.converse(&made).await;
    fs::remove_dir_all(&made.path).unwrap();
    for _ in 0..2 {
        let error = daemon.ask(&talk, "hello").await.unwrap_err();
        let message = "Cannot spawn Claude: worktree directory does not exist".to_owned();
        assert_eq!(told(&error), ("FAILED_PRECONDITION".into(), message, json!({ "path": made.path })));
    }
    assert!(!world.at("claude.cwd").exists(), "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn startup_reconciliation_marks_stale() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    daemon.signal("-TERM");
    assert!(daemon.wait().success());
    fs::remove_dir_all(&made.path).unwrap();
    let before = world.log();
    assert!(!before.contains("directory missing"), "{before}");

    let daemon = world.daemon().await;
    let log = world.log();
    let said =
        log.lines().find(|line| line.contains("directory missing")).expect("a warning before any call");
    assert!(said.contains(" WARN ") && said.contains(&made.id) && said.contains(&made.path), "{said}");
    let listed = daemon.list().await;
    assert_eq!((listed.len(), listed[0].status.as_str()), (1, "stale"));
}

#[tokio::test(flavor = "multi_thread")]
async fn remove_worktree_cleans_up_stale_worktree() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = deleted(&world, &daemon).await;
    assert_eq!(daemon.list().await[0].status, "stale");
    let request = RemoveWorktreeRequest { worktree_id: made.id, force: true };
    let removed = daemon.client.worktrees.clone().remove_worktree(request).await.unwrap().into_inner();
    assert!(removed.removed);
    assert_eq!(daemon.list().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn git_worktree_prune_on_stale_detection() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = deleted(&world, &daemon).await;
    assert!(world.repo.git(["worktree", "list", "--porcelain"]).contains(&made.path));
    daemon.list().await;
    assert!(!world.repo.git(["worktree", "list", "--porcelain"]).contains(&made.path));
}
