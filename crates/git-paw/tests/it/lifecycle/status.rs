//! `git paw status`

use std::fs;

use paw_testkit::wait_until;
use serde_json::json;

use super::World;

#[test]
fn status_shows_the_session_its_agents_and_their_worktrees() {
    let world = World::new();
    let ran = world.paw(&["status"]);
    insta::assert_snapshot!(ran, @"
    exit 0
    --- stdout
    session     paw-app active

    BRANCH  CLI     AGENT    WORKTREE  PATH
    feat/a  claude  running  present   [SANDBOX]/app-feat-a
    feat/b  claude  running  present   [SANDBOX]/app-feat-b
    ");
}

#[test]
fn status_prints_json() {
    let world = World::new();
    let status = world.status();
    assert_eq!((&status["session"], &status["status"]), (&json!("paw-app"), &json!("active")));
    assert_eq!((&status["tmux_running"], &status["broker"]), (&json!(true), &json!(null)));
    let agent = &status["worktrees"][0];
    assert_eq!((&agent["branch"], &agent["cli"]), (&json!("feat/a"), &json!("claude")));
    assert_eq!((&agent["agent_id"], &agent["state"]), (&json!("feat-a"), &json!("running")));
    assert_eq!(
        agent["worktree_path"],
        json!(world.sandbox.redact(&world.worktree("feat/a").to_string_lossy()))
    );
    assert_eq!(agent["pane"], json!(world.pane("feat-a").unwrap()));
}

#[test]
fn status_shows_a_shell_script_cli_as_running() {
    let world = World::new();
    world.sandbox.install_program("scripted", "#!/bin/sh\nwhile read -r line; do :; done\n");
    world.sandbox.write("home/.config/git-paw/config.toml", "[clis.scripted]\ncommand = \"scripted\"\n");
    let ran = world.paw(&["add", "feat/c", "--cli", "scripted"]);
    assert_eq!(ran.code, 0, "{ran}");
    let state = |wanted: &str| {
        wait_until(wanted, || (world.status()["worktrees"][2]["state"] == json!(wanted)).then_some(()));
    };
    state("running");
    assert_ne!(world.swept(2)["state"], json!("exited"));
    world.tmux(&["send-keys", "-t", &world.pane("feat-c").unwrap(), "C-d", ""]);
    state("ended");
    assert_eq!(world.swept(2)["state"], json!("exited"));
}

#[test]
fn tell_to_an_agent_without_an_inbox_says_how_to_reach_it() {
    let world = World::new();
    insta::assert_snapshot!(world.paw(&["tell", "feat-a", "--inbox", "hello"]), @"
    exit 1
    --- stderr
    error: this session has no broker, so its agents have no inbox
    hint: use --now to type it into the pane, or set [broker] enabled = true for the next session
    ");
}

#[test]
fn status_shows_the_broker_and_its_port() {
    let world = World::with_broker();
    let status = wait_until("the broker runs", || {
        Some(world.status()).filter(|status| status["broker"]["running"] == json!(true))
    });
    let port = status["broker"]["port"].as_u64().unwrap();
    assert_eq!(status["broker"]["url"], json!(format!("http://127.0.0.1:{port}")));
    let ran = world.paw(&["status"]);
    assert!(ran.stdout.contains(&format!("http://127.0.0.1:{port} running")), "{ran}");
}

#[test]
fn status_and_sweep_agree_on_a_verified_commit() {
    let world = World::with_broker();
    wait_until("the broker runs", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    let ran = world.paw(&["sweep", "verified", "feat-b", "all gates pass"]);
    assert_eq!(ran.code, 0, "{ran}");
    let status = world.status();
    let check = &status["worktrees"][1]["checks"][0];
    assert_eq!((&check["passed"], &check["text"]), (&json!(true), &json!("all gates pass")), "{status}");
    assert_eq!(*check, world.swept(1)["checks"][0]);
    assert_eq!((&status["questions"], &status["conflicts"]), (&json!([]), &json!([])));
    world.repo.commit_file("on-main.txt", "1", "on main");
    let tip = &world.status()["worktrees"][1]["tip"];
    assert_eq!((&tip["ahead"], &tip["behind"]), (&json!(0), &json!(1)), "{tip}");
    let known: Vec<_> = status["worktrees"].as_array().unwrap().iter().map(|one| &one["agent_id"]).collect();
    assert_eq!(known, ["feat-a", "feat-b"], "other senders are not agents of the session");
}

#[test]
fn active_and_dead_downgrades_to_stopped() {
    let world = World::new();
    world.kill_tmux();
    let status = world.status();
    assert_eq!((&status["status"], &status["recorded"]), (&json!("stopped"), &json!("active")));
    assert_eq!(status["tmux_running"], json!(false));
    assert!(world.paw(&["status"]).stdout.contains("git paw start"));
}

#[test]
fn status_shows_an_exited_cli_and_a_missing_worktree() {
    let world = World::new();
    let pane = world.pane("feat-a").unwrap();
    world.tmux(&["send-keys", "-t", &pane, "C-c"]);
    fs::remove_dir_all(world.worktree("feat/b")).unwrap();
    wait_until("the CLI has ended", || {
        (world.status()["worktrees"][0]["state"] == json!("ended")).then_some(())
    });
    assert_eq!(world.status()["worktrees"][1]["worktree"], json!("missing"));
}

#[test]
fn status_shows_an_agent_on_another_branch() {
    let world = World::new();
    paw_testkit::git(&world.worktree("feat/a"), ["checkout", "--quiet", "-b", "elsewhere"]);
    paw_testkit::git(&world.worktree("feat/b"), ["checkout", "--quiet", "--detach"]);
    let ran = world.paw(&["status"]);
    assert!(ran.stdout.contains("on elsewhere") && ran.stdout.contains("detached"), "{ran}");
}

#[test]
fn status_is_the_same_from_inside_a_worktree() {
    let world = World::new();
    let inside = crate::paw::paw(&world.sandbox, &world.worktree("feat/a"), &["status", "--json"]);
    // Without a broker, the panes are read at the time of the command.
    let timeless = |mut status: serde_json::Value| {
        for agent in status["worktrees"].as_array_mut().unwrap() {
            agent["observed"] = agent["observed"]["state"].take();
        }
        status
    };
    assert_eq!(timeless(crate::paw::document(&inside)), timeless(world.status()));
}

#[test]
fn status_ignores_a_foreign_tmux_session_with_the_same_name() {
    let world = World::new();
    world.kill_tmux();
    assert_eq!(world.sandbox.tmux(["new-session", "-d", "-s", "paw-app"]).code, 0);
    assert_eq!(world.status()["status"], json!("stopped"));
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    assert!(world.is_alive(), "the foreign session was killed");
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(world.is_alive(), "the foreign session was killed");
}

#[test]
fn status_works_in_a_locale_without_utf_8() {
    let mut world = World::new();
    world.sandbox.set("LANG", "C");
    let status = world.status();
    assert_eq!(status["status"], json!("active"));
    assert_eq!(status["worktrees"][0]["state"], json!("running"));
}
