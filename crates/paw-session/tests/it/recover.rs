//! Recovery of sessions after a crash, a stop and a pause.

use std::fs;

use paw_agent::hooks::notes::{HookNote, HookNotes};
use paw_core::{Receipt, SessionMode, SessionStatus};
use paw_host::tmux::TmuxCommand;
use paw_session::{launch, recover};
use paw_testkit::wait_until;
use serde_json::json;

use crate::world::{World, now, use_plain_shells};

fn marks(world: &World, receipt: &Receipt) -> Vec<String> {
    world.panes(&receipt.session_name).into_iter().map(|(mark, _)| mark).collect()
}

#[test]
fn recovery_rebuilds_the_session_after_tmux_kill_server() {
    let mut world = World::new("kill-server");
    world.config.logging =
        Some(paw_core::config::LoggingConfig { enabled: true, ..paw_core::config::LoggingConfig::default() });
    let started = world.start(&["feat/a", "feat/b"], true);
    world.wait_for(&started.session_name, "feat-b", "agent in");
    fs::write(started.worktrees[0].worktree_path.join("mine.txt"), "work").unwrap();
    world.tmux.run(&TmuxCommand::new("kill-server")).unwrap();
    wait_until("the server is gone", || world.running().names().is_empty().then_some(()));
    assert_eq!(world.running().status(&started), SessionStatus::Stopped);
    use_plain_shells(&world.tmux);
    let found = world.receipts.find_for_repo(&world.repo.root).unwrap().unwrap();

    let recovered = world.recover(&found).unwrap().receipt;
    assert_eq!(recovered.session_name, started.session_name);
    assert_eq!(recovered.session_id(), started.session_id());
    assert_eq!((recovered.status, recovered.mode), (SessionStatus::Active, SessionMode::Supervisor));
    assert_eq!(marks(&world, &recovered), ["supervisor", "dashboard", "feat-a", "feat-b"]);
    for id in ["supervisor", "feat-a", "feat-b"] {
        world.wait_for(&recovered.session_name, id, "agent in");
    }
    assert_eq!(fs::read_to_string(started.worktrees[0].worktree_path.join("mine.txt")).unwrap(), "work");
    let logs = recovered.log_dir.unwrap().join("paw-app");
    assert_eq!(fs::read_dir(logs).unwrap().count(), 3, "the supervisor's and the agents'");
}

#[test]
fn session_recovery_uses_original_broker_config_not_current_config() {
    let mut world = World::new("original");
    let started = world.start(&["feat/a"], true);
    world.tmux.kill_session(&started.session_name).unwrap();
    world.config.broker.enabled = false;
    world.config.broker.port = 1;
    let recovered = world.recover(&started).unwrap().receipt;
    assert_eq!(recovered.broker_port, started.broker_port);
    assert_eq!(marks(&world, &recovered)[1], "dashboard");
}

#[test]
fn session_recovery_without_original_broker_creates_no_dashboard() {
    let mut world = World::new("no-broker");
    let started = world.start(&["feat/a"], false);
    world.tmux.kill_session(&started.session_name).unwrap();
    world.config.broker.enabled = true;
    let recovered = world.recover(&started).unwrap().receipt;
    assert_eq!(marks(&world, &recovered), ["feat-a"]);
}

#[test]
fn session_recovery_recreates_dashboard_pane_when_broker_was_enabled() {
    let mut world = World::new("dashboard");
    world.config.broker.enabled = true;
    let started = world.start(&["feat/a", "feat/b"], false);
    world.tmux.kill_session(&started.session_name).unwrap();
    let recovered = world.recover(&started).unwrap().receipt;
    assert_eq!(marks(&world, &recovered), ["dashboard", "feat-a", "feat-b"]);
    assert_eq!(recovered.dashboard_pane, Some(0));
    world.wait_for(&recovered.session_name, "dashboard", "dashboard in");
}

#[test]
fn recovery_recreates_a_deleted_worktree() {
    let world = World::new("deleted");
    let started = world.start(&["feat/a", "feat/b"], false);
    world.tmux.kill_session(&started.session_name).unwrap();
    fs::remove_dir_all(&started.worktrees[1].worktree_path).unwrap();
    let recovered = world.recover(&started).unwrap();
    assert_eq!(recovered.notes, ["created the missing worktree of feat/b again"]);
    assert!(recovered.receipt.worktrees[1].worktree_path.join("README.md").exists());
    assert!(recovered.receipt.worktrees[1].branch_created, "the session made the branch, once");
}

#[test]
fn failed_recovery_of_a_worktree_leaves_the_receipt_unchanged() {
    let world = World::new("cannot");
    let started = world.start(&["feat/a", "feat/b"], false);
    world.tmux.kill_session(&started.session_name).unwrap();
    fs::remove_dir_all(&started.worktrees[1].worktree_path).unwrap();
    fs::write(&started.worktrees[1].worktree_path, "in the way").unwrap();
    let error = world.recover(&started).unwrap_err().to_string();
    assert!(error.contains("feat/b"), "{error}");
    assert_eq!(world.receipts.load(&started.session_name).unwrap(), Some(started.clone()));
    assert!(started.worktrees[0].worktree_path.is_dir());
    assert!(!world.running().has_name(&started.session_name));
}

#[test]
fn failed_recovery_keeps_the_recorded_conversations() {
    let world = World::new("rolled-back");
    let mut stopped = world.start(&["feat/a"], false);
    world.tmux.kill_session(&stopped.session_name).unwrap();
    let record = json!({"hook_event_name": "UserPromptSubmit", "session_id": "c-1"});
    let note = HookNote::new(now(), "claude", &record);
    HookNotes::of(&world.repo.root.join(".git")).append(&stopped.agent_ids()[0], &note).unwrap();
    let logs = world.root().join("logs");
    fs::write(&logs, "in the way").unwrap();
    stopped.log_dir = Some(logs);
    world.receipts.save(&stopped, &world.receipts.lock().unwrap()).unwrap();

    assert!(world.recover(&stopped).is_err());
    assert!(!world.running().has_name(&stopped.session_name));
    let kept = world.receipts.load(&stopped.session_name).unwrap().unwrap();
    assert_eq!(kept.worktrees[0].conversation.as_deref(), Some("c-1"));
}

#[test]
fn recovery_uses_another_name_if_a_foreign_session_has_taken_it() {
    let world = World::new("renamed");
    let started = world.start(&["feat/a"], true);
    world.tmux.kill_session(&started.session_name).unwrap();
    world.tmux.run(&TmuxCommand::new("new-session").args(["-d", "-s", "paw-app"])).unwrap();
    assert_eq!(world.running().status(&started), SessionStatus::Stopped, "that one is not ours");
    let recovered = world.recover(&started).unwrap().receipt;
    assert_eq!(recovered.session_name.as_str(), "paw-app-2");
    assert_eq!(recovered.session_id(), started.session_id(), "its messages are still its own");
    assert_eq!(world.receipts.load(&started.session_name).unwrap(), None);
    assert!(world.running().has_name(&started.session_name));
}

#[test]
fn recovery_ends_a_tmux_session_left_by_an_interrupted_stop() {
    let world = World::new("half-stopped");
    let mut started = world.start(&["feat/a"], false);
    world.wait_for(&started.session_name, "feat-a", "agent in");
    started.status = SessionStatus::Stopped;
    world.receipts.save(&started, &world.receipts.lock().unwrap()).unwrap();
    let recovered = world.recover(&started).unwrap().receipt;
    assert_eq!(recovered.session_name, started.session_name);
    assert_eq!(marks(&world, &recovered), ["feat-a"]);
}

#[test]
fn recovery_accepts_an_old_receipt_without_ids_and_commands() {
    let world = World::new("old");
    let mut started = world.start(&["feat/a"], false);
    world.tmux.kill_session(&started.session_name).unwrap();
    started.worktrees[0].agent_id = None;
    started.worktrees[0].command = None;
    let recovered = world.recover(&started).unwrap().receipt;
    assert_eq!(recovered.worktrees[0].agent_id.as_ref().unwrap().as_str(), "feat-a");
    assert_eq!(marks(&world, &recovered), ["feat-a"]);
}

#[test]
fn resume_after_a_pause_restarts_only_the_dashboard() {
    let world = World::new("paused");
    let mut started = world.start(&["feat/a"], true);
    world.wait_for(&started.session_name, "dashboard", "dashboard in");
    world.wait_for(&started.session_name, "feat-a", "agent in");
    let before = world.tmux.panes_with(&started.session_name, "@paw_agent").unwrap();
    let (dashboard, _) = before.iter().find(|(_, mark)| mark == "dashboard").unwrap();
    // A pause leaves a shell, perhaps with half-typed input.
    world.tmux.run(&TmuxCommand::new("send-keys").args(["-t", dashboard, "C-c", "clear", "Enter"])).unwrap();
    started.status = SessionStatus::Paused;
    world.receipts.save(&started, &world.receipts.lock().unwrap()).unwrap();
    assert_eq!(world.running().status(&started), SessionStatus::Paused);
    let lock = launch::lock(&world.repo(), || {}).unwrap();
    let resumed = recover::resume(world.services(), &world.repo(), &started, &lock).unwrap();
    assert_eq!(resumed.status, SessionStatus::Active);
    assert_eq!(world.tmux.panes_with(&started.session_name, "@paw_agent").unwrap(), before);
    world.wait_for(&started.session_name, "dashboard", "dashboard in");
}

#[test]
fn resume_recreates_a_closed_dashboard_pane() {
    for (name, supervised) in [("gone-supervised", true), ("gone-bare", false)] {
        let mut world = World::new(name);
        world.config.broker.enabled = true;
        let mut started = world.start(&["feat/a", "feat/b"], supervised);
        let before = marks(&world, &started);
        let panes = world.tmux.panes_with(&started.session_name, "@paw_agent").unwrap();
        let (dashboard, _) = panes.iter().find(|(_, mark)| mark == "dashboard").unwrap();
        world.tmux.run(&TmuxCommand::new("kill-pane").args(["-t", dashboard])).unwrap();
        started.status = SessionStatus::Paused;
        let lock = launch::lock(&world.repo(), || {}).unwrap();
        recover::resume(world.services(), &world.repo(), &started, &lock).unwrap();
        assert_eq!(marks(&world, &started), before);
        world.wait_for(&started.session_name, "dashboard", "dashboard in");
    }
}

#[test]
fn recovered_supervisor_starts_a_new_conversation_with_its_boot_prompt() {
    let world = World::new("supervisor");
    let mut started = world.start(&["feat/a"], true);
    world.tmux.kill_session(&started.session_name).unwrap();
    let supervisor = started.supervisor.as_mut().unwrap();
    supervisor.cli = "claude".into();
    supervisor.pending_boot_prompt = None;
    world.receipts.save(&started, &world.receipts.lock().unwrap()).unwrap();
    let recovered = world.recover(&started).unwrap().receipt;
    let supervisor = recovered.supervisor.unwrap();
    assert!(supervisor.boot_prompt.is_some());
    assert_eq!(supervisor.pending_boot_prompt, supervisor.boot_prompt);
    world.wait_for(&recovered.session_name, "supervisor", "app with .");
}
