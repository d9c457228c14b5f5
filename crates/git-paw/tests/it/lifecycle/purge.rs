//! `git paw purge`

use std::fs;

use paw_testkit::wait_until;
use serde_json::json;

use super::{REGION, World};

#[test]
fn purge_restores_the_size_of_new_windows_and_the_previous_tmux_session() {
    let world = World::empty();
    world.tmux(&["new-session", "-d", "-s", "mine", "sleep 600"]);
    world.tmux(&["set-option", "-g", "default-size", "123x45"]);
    let size = || world.tmux(&["show-options", "-gv", "default-size"]);
    let start = ["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"];
    assert_eq!(world.paw(&start).code, 0);
    assert_eq!(size(), "200x50");
    let leaves = world.tmux(&["show-options", "-v", "-t", "=paw-app:", "detach-on-destroy"]);
    assert_eq!(leaves, "off", "clients of the session go to another one when it ends");
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert_eq!(size(), "123x45");
    assert_eq!(world.paw(&start).code, 0);
    world.tmux(&["set-option", "-g", "default-size", "99x33"]);
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert_eq!(size(), "99x33", "the user's later choice stays");
}

#[test]
fn purge_removes_the_session_its_worktrees_and_its_unused_branches() {
    let world = World::new();
    let ran = world.paw(&["purge", "--force"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Purged session 'paw-app'.\n"), "{ran}");
    assert!(!world.is_alive() && !world.receipt_path().exists());
    for branch in ["feat/a", "feat/b"] {
        assert!(!world.worktree(branch).exists() && !world.has_branch(branch), "{branch}");
    }
    assert_eq!(world.repo.git(["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.paw(&["purge", "--force"]).stdout, "No session to purge for this repo.\n");
}

#[test]
fn purge_stores_text_added_to_a_briefing_but_not_the_briefing() {
    let world = World::new();
    let briefing = world.worktree("feat/a").join("AGENTS.md");
    let text = fs::read_to_string(&briefing).unwrap();
    fs::write(&briefing, format!("my own rule\n{text}")).unwrap();
    let ran = world.paw(&["purge", "--force"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stderr.contains("ignored files"), "{ran}");
    let kept = world.paw(&["undo", "--json"]).stdout;
    let id = serde_json::from_str::<serde_json::Value>(&kept).unwrap()["rescues"][0]["id"].clone();
    let shown = world.paw(&["undo", "show", id.as_str().unwrap()]);
    assert!(shown.stdout.contains("AGENTS.md"), "{shown}");
}

#[test]
fn purge_without_a_terminal_needs_force() {
    let world = World::new();
    let ran = world.paw(&["purge"]);
    assert!(ran.code == 1 && ran.stderr.contains("--force"), "{ran}");
    assert!(world.is_alive() && world.worktree("feat/a").exists());
}

#[test]
fn purge_with_unmerged_commits_and_y_enter_proceeds() {
    let world = World::new();
    world.commit_in("feat/a", "one");
    world.commit_in("feat/a", "two");
    let mut terminal = world.typed(&["purge"]);
    terminal.wait_for("irreversible");
    let shown = terminal.shown();
    let warned = shown.find("1 branch(es) have unmerged commits:").expect("a warning");
    assert!(shown.contains("feat/a (2 commits)") && warned < shown.find("irreversible").unwrap(), "{shown}");
    terminal.send("y\r");
    terminal.wait_for("'paw-app'.");
    assert_eq!(terminal.finish(), 0);
    assert!(!world.is_alive() && !world.worktree("feat/a").exists());
    assert!(world.has_branch("feat/a"), "a branch with commits of its own stays");
    assert!(!world.has_branch("feat/b"));
}

#[test]
fn purge_with_n_enter_or_bare_enter_cancels() {
    let world = World::new();
    world.commit_in("feat/a", "one");
    for keys in ["n\r", "\r"] {
        let mut terminal = world.typed(&["purge"]);
        terminal.wait_for("y/N");
        terminal.send(keys);
        terminal.wait_for("cancelled.");
        assert_eq!(terminal.finish(), 0);
        assert!(world.worktree("feat/a").exists() && world.is_alive());
    }
    let mut terminal = world.typed(&["purge"]);
    terminal.wait_for("y/N");
    terminal.send("\x03");
    assert_eq!(terminal.finish(), 2);
}

#[test]
fn purge_without_unmerged_commits_shows_the_short_prompt() {
    let world = World::new();
    let mut terminal = world.typed(&["purge"]);
    for word in ["remove", "worktrees,", "y/N"] {
        terminal.wait_for(word);
    }
    assert!(!terminal.shown().contains("unmerged"));
    terminal.send("y\r");
    terminal.wait_for("'paw-app'.");
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn purge_removes_an_agent_added_during_the_prompt() {
    let world = World::new();
    let mut terminal = world.typed(&["purge"]);
    terminal.wait_for("y/N");
    assert_eq!(world.paw(&["add", "feat/c"]).code, 0);
    terminal.send("y\r");
    terminal.wait_for("'paw-app'.");
    assert_eq!(terminal.finish(), 0);
    assert!(!world.worktree("feat/c").exists() && !world.has_branch("feat/c"));
    assert_eq!(world.repo.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn purge_does_nothing_if_the_session_was_purged_during_the_prompt() {
    let world = World::new();
    let mut terminal = world.typed(&["purge"]);
    terminal.wait_for("y/N");
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    terminal.send("y\r");
    terminal.wait_for("No session to purge");
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn purge_force_removes_dirty_worktrees_and_keeps_their_work() {
    let world = World::new();
    fs::write(world.worktree("feat/a").join("draft"), "unsaved").unwrap();
    let ran = world.paw(&["purge", "--force"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!world.worktree("feat/a").exists());
    let restore =
        ran.stderr.lines().find_map(|line| line.split_once("git paw undo restore ")).expect("a rescue").1;
    assert_eq!(world.paw(&["undo", "restore", restore.trim()]).code, 0);
    assert_eq!(fs::read_to_string(world.worktree("feat/a").join("draft")).unwrap(), "unsaved");
}

#[test]
fn purge_force_emits_per_worktree_progress_to_stderr() {
    let world = World::new();
    let ran = world.paw(&["purge", "--force"]);
    let lines: Vec<_> = ran.stderr.lines().filter(|line| !line.starts_with("deleted branch")).collect();
    assert_eq!(lines.len(), 4, "{ran}");
    for (pair, name) in lines.chunks(2).zip(["app-feat-a", "app-feat-b"]) {
        assert_eq!(pair[0], format!("Removing worktree [SANDBOX]/{name}..."));
        assert!(pair[1].starts_with("  ...done (") && pair[1].ends_with("s)"), "{}", pair[1]);
    }
}

#[test]
fn purge_without_force_keeps_a_dirty_worktree_and_continues() {
    let world = World::new();
    fs::write(world.worktree("feat/a").join("draft"), "unsaved").unwrap();
    let mut terminal = world.typed(&["purge"]);
    terminal.wait_for("y/N");
    terminal.send("y\r");
    terminal.wait_for("failed");
    terminal.wait_for("except");
    assert_eq!(terminal.finish(), 0);
    assert!(world.worktree("feat/a").join("draft").exists() && !world.worktree("feat/b").exists());
    assert!(!world.is_alive());
    // The rest can be purged later.
    assert_eq!(world.receipt()["worktrees"].as_array().unwrap().len(), 1);
    let ran = world.paw(&["purge", "--force"]);
    assert!(ran.code == 0 && !world.worktree("feat/a").exists() && !world.receipt_path().exists(), "{ran}");
}

#[test]
fn purge_keeps_a_branch_that_existed_before_the_session() {
    let world = World::empty();
    world.repo.git(["branch", "feat/a"]);
    let world = world.started();
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(world.has_branch("feat/a") && !world.has_branch("feat/b"));
}

#[test]
fn purge_keeps_one_of_two_branches_with_the_same_commit() {
    let world = World::new();
    let commit = world.commit_in("feat/a", "one");
    paw_testkit::git(&world.worktree("feat/b"), ["reset", "--quiet", "--hard", &commit]);
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(!world.repo.git(["branch", "--contains", &commit]).is_empty(), "the commit is lost");
}

#[test]
fn purge_ends_the_processes_left_in_the_worktrees() {
    let world = World::new();
    let mut left = world.inhabit(&world.worktree("feat/a"));
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    wait_until("the process has ended", || left.try_wait().unwrap());
    assert!(!world.worktree("feat/a").exists());
}

#[test]
fn purge_from_inside_a_worktree_does_not_kill_its_caller() {
    let world = World::new();
    let script = format!("{} purge --force; echo alive", crate::paw::PROGRAM);
    let ran = world.sandbox.run(&world.worktree("feat/a"), "sh", ["-c", &script]);
    assert!(ran.stdout.ends_with("alive\n") && !world.receipt_path().exists(), "{ran}");
}

#[test]
fn purge_removes_messages_hooks_and_the_audit_trail() {
    let world = World::with_broker();
    wait_until("the broker runs", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    let said = world.paw(&["say", "status", "working"]);
    assert_eq!(said.code, 0, "{said}");
    let audit = world.repo.root.join(".git-paw/broker.log");
    wait_until("the audit trail", || audit.exists().then_some(()));
    assert!(world.messages() > 0);
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(!audit.exists());
    let config = fs::read_to_string(world.repo.root.join(".git/config")).unwrap();
    assert!(!config.to_lowercase().contains("include"), "{config}");
    assert_eq!(world.messages(), 0);
}

#[test]
fn purge_strips_the_boot_block_injection() {
    let world = World::new();
    let agents = world.repo.root.join("AGENTS.md");
    fs::write(&agents, format!("# Mine\n{REGION}after\n")).unwrap();
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    let text = fs::read_to_string(&agents).unwrap();
    assert!(!text.contains("git-paw:") && text.contains("# Mine") && text.contains("after"), "{text}");
}

#[test]
fn purge_stale_removes_only_sessions_that_cannot_be_resumed() {
    let world = World::new();
    let gone = world.receipt_path().with_file_name("paw-gone.json");
    let mut receipt = world.receipt();
    receipt["session_name"] = json!("paw-gone");
    receipt["repo_path"] = json!("/no/such/repository");
    fs::write(&gone, receipt.to_string()).unwrap();
    world.paw(&["stop"]);
    let ran = world.paw(&["purge", "--stale"]);
    assert!(ran.code == 1 && gone.exists(), "{ran}");
    let ran = world.paw(&["purge", "--stale", "--force"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Purged session 'paw-gone'.\n"), "{ran}");
    assert!(!gone.exists() && world.receipt_path().exists());
    assert_eq!(world.paw(&["purge", "--stale", "--force"]).stdout, "No stale sessions.\n");
}
