//! `git paw pause`, and the start that follows it.

use std::fs;

use paw_testkit::wait_until;
use serde_json::json;

use super::World;

#[test]
fn pause_leaves_clis_running_and_start_resumes() {
    let world = World::with_broker();
    wait_until("the broker runs", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    let panes = world.panes();
    let ran = world.paw(&["pause"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "Session 'paw-app' paused. Resume with: git paw start\n"),
        "{ran}"
    );
    let status = world.status();
    assert_eq!((&status["status"], &status["broker"]["running"]), (&json!("paused"), &json!(false)));
    assert_eq!(status["worktrees"][0]["state"], json!("running"));
    assert_eq!(world.panes(), panes, "no pane moves");
    assert_eq!(world.paw(&["pause"]).stdout, "Session 'paw-app' is already paused.\n");
    assert_eq!(world.paw(&["start"]).code, 0);
    wait_until("the broker is back", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    assert_eq!((world.status()["status"].clone(), world.panes()), (json!("active"), panes));
}

#[test]
fn pause_detaches_terminals() {
    let world = World::new();
    let terminal = world.typed(&["attach"]);
    terminal.wait_for("hello");
    assert_eq!(world.paw(&["pause"]).code, 0);
    assert_eq!(terminal.finish(), 0);
    assert!(world.is_alive());
}

#[test]
fn paused_and_dead_downgrades_to_stopped() {
    let world = World::new();
    world.paw(&["pause"]);
    assert_eq!(world.status()["status"], json!("paused"));
    world.kill_tmux();
    let status = world.status();
    assert_eq!((&status["status"], &status["recorded"]), (&json!("stopped"), &json!("paused")));
    assert_eq!(world.paw(&["pause"]).stdout, "No active session for this repo.\n");
}

#[test]
fn session_of_an_older_version_is_resumed_after_a_pause() {
    let world = World::new();
    let mut receipt = world.receipt();
    receipt.as_object_mut().unwrap().remove("format");
    fs::write(world.receipt_path(), receipt.to_string()).unwrap();
    world.tmux(&["set-option", "-u", "-t", "=paw-app:", "@paw_session"]);
    let panes = world.panes();
    let ran = world.paw(&["pause"]);
    assert!(ran.stdout.contains("paused"), "{ran}");
    assert_eq!(world.paw(&["start"]).code, 0);
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "paw-app");
    assert_eq!((world.status()["status"].clone(), world.panes()), (json!("active"), panes));
    // After the rebuild the tmux session and its receipt have the new mark.
    world.kill_tmux();
    assert_eq!(world.paw(&["start"]).code, 0);
    assert_eq!(world.receipt()["format"], json!(1));
    assert_eq!(world.status()["status"], json!("active"));
}

#[test]
fn pause_accepts_no_flags() {
    let ran = World::empty().paw(&["pause", "--anything"]);
    assert!(ran.code == 2 && ran.stderr.contains("unexpected argument"), "{ran}");
}

#[test]
fn pause_appears_in_help() {
    let help = World::empty().paw(&["--help"]).stdout;
    assert!(
        help.contains("Pause the session (detaches client, stops broker, leaves CLIs running)"),
        "{help}"
    );
    let quick_start = help.split_once("Quick start:").unwrap().1;
    assert!(quick_start.contains("git paw pause") && quick_start.contains("git paw purge"), "{quick_start}");
}

#[test]
fn pause_help_text_names_the_ram_trade_off() {
    let help = World::empty().paw(&["pause", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["remain running", "RAM stays held", "git paw stop"] {
        assert!(help.contains(words), "{help}");
    }
}
