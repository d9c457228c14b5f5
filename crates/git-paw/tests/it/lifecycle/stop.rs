//! `git paw stop`

use std::fs;

use paw_testkit::wait_until;
use serde_json::json;

use super::{REGION, World};

#[test]
fn stop_ends_the_session_and_keeps_worktrees_and_receipt() {
    let world = World::new();
    fs::write(world.worktree("feat/a").join("draft"), "unsaved").unwrap();
    let ran = world.paw(&["stop"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "Session stopped. Worktrees and state preserved.\n"),
        "{ran}"
    );
    assert!(!world.is_alive());
    assert_eq!(fs::read_to_string(world.worktree("feat/a").join("draft")).unwrap(), "unsaved");
    assert_eq!(world.receipt()["status"], json!("stopped"));
    assert_eq!(world.paw(&["stop"]).stdout, "No active session for this repo.\n");
}

#[test]
fn stop_ends_the_broker_and_keeps_its_messages() {
    let world = World::with_broker();
    wait_until("the broker runs", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    let ran = world.paw(&["say", "status", "working"]);
    let said = ran.code == 0;
    assert_eq!(world.paw(&["stop"]).code, 0);
    assert_eq!(world.status()["broker"]["running"], json!(false));
    assert!(!world.repo.root.join(".git/paw/endpoint.json").exists());
    assert!(said, "{ran}");
}

#[test]
fn stop_on_a_terminal_asks_and_no_is_the_default() {
    let world = World::new();
    for keys in ["\r", "n\r"] {
        let mut terminal = world.typed(&["stop"]);
        for word in ["pause", "purge", "y/N"] {
            terminal.wait_for(word);
        }
        terminal.send(keys);
        terminal.wait_for("cancelled");
        assert_eq!(terminal.finish(), 0);
        assert!(world.is_alive());
    }
    let mut terminal = world.typed(&["stop"]);
    terminal.wait_for("y/N");
    terminal.send("\x03");
    assert_eq!(terminal.finish(), 2);
    assert!(world.is_alive());
    let mut terminal = world.typed(&["stop"]);
    terminal.wait_for("y/N");
    terminal.send("y\r");
    terminal.wait_for("preserved");
    assert_eq!(terminal.finish(), 0);
    assert!(!world.is_alive());
}

#[test]
fn stop_with_force_from_a_tty_skips_the_prompt() {
    let world = World::new();
    let terminal = world.typed(&["stop", "--force"]);
    terminal.wait_for("preserved");
    assert!(!terminal.shown().contains("y/N"));
    assert_eq!(terminal.finish(), 0);
    assert!(!world.is_alive());
}

#[test]
fn stop_from_inside_the_session_ends_it_as_well() {
    let world = World::new();
    let pane = world.pane("feat-a").unwrap();
    world.tmux(&["send-keys", "-t", &pane, "C-c"]);
    world.tmux(&["send-keys", "-t", &pane, &format!("{} stop --force", crate::paw::PROGRAM), "Enter"]);
    wait_until("the session has ended", || (!world.is_alive()).then_some(()));
    assert_eq!(world.receipt()["status"], json!("stopped"));
}

#[test]
fn stop_strips_the_boot_block_injection() {
    let world = World::new();
    let agents = world.repo.root.join("AGENTS.md");
    fs::write(&agents, format!("# Mine\n\n{REGION}\nafter\n")).unwrap();
    assert_eq!(world.paw(&["stop"]).code, 0);
    let text = fs::read_to_string(&agents).unwrap();
    assert!(
        !text.contains("git-paw:") && text.starts_with("# Mine\n") && text.ends_with("after\n"),
        "{text}"
    );
}

#[test]
fn stop_on_agents_md_without_markers_is_a_no_op() {
    let world = World::new();
    let agents = world.repo.root.join("AGENTS.md");
    fs::write(&agents, "# Mine\r\nno newline at the end").unwrap();
    assert_eq!(world.paw(&["stop"]).code, 0);
    assert_eq!(fs::read_to_string(&agents).unwrap(), "# Mine\r\nno newline at the end");
}

#[test]
fn stop_help_names_all_three_teardown_verbs() {
    let world = World::empty();
    let help = world.paw(&["stop", "--help"]).stdout;
    for words in ["pause", "purge", "kills the CLI processes", "preserves worktrees"] {
        assert!(help.contains(words), "{help}");
    }
}

#[test]
fn stop_does_not_end_a_session_with_the_same_prefix() {
    let world = World::new();
    world.sandbox.tmux(["new-session", "-d", "-s", "paw-application"]);
    assert_eq!(world.paw(&["stop"]).code, 0);
    assert_eq!(world.sandbox.tmux(["has-session", "-t", "=paw-application"]).code, 0);
}
