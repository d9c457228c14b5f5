//! `git paw add`

use std::fs;

use paw_testkit::wait_until;
use serde_json::json;

use super::World;

/// The owner and size of every pane.
fn sizes(world: &World) -> Vec<String> {
    let format = "#{@paw_agent} #{pane_left},#{pane_top} #{pane_width}x#{pane_height}";
    world.tmux(&["list-panes", "-t", "=paw-app:", "-F", format]).lines().map(str::to_owned).collect()
}

fn branches(world: &World) -> Vec<serde_json::Value> {
    world.status()["worktrees"].as_array().unwrap().iter().map(|one| one["branch"].clone()).collect()
}

#[test]
fn add_gives_a_new_agent_a_worktree_and_a_pane() {
    let world = World::new();
    let before = world.panes();
    let ran = world.paw(&["add", "feat/c"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "added feat/c → claude\n"), "{ran}");
    assert!(world.worktree("feat/c").join("README.md").exists());
    assert_eq!(world.panes()[..2], before, "the other panes stay in place");
    wait_until("its CLI runs", || {
        let pane = world.pane("feat-c")?;
        world.tmux(&["capture-pane", "-p", "-t", &pane]).contains("hello").then_some(())
    });
    assert_eq!(branches(&world), [json!("feat/a"), json!("feat/b"), json!("feat/c")]);
    assert_eq!(world.status()["worktrees"][2]["state"], json!("running"));
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(!world.worktree("feat/c").exists() && !world.has_branch("feat/c"));
}

#[test]
fn add_takes_several_branches_each_with_its_cli_and_all_with_one_task() {
    let world = World::new();
    let ran = world.paw(&["add", "feat/c", "feat/d=claude", "--prompt", "cover the parser"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "added feat/c → claude\nadded feat/d → claude\n"),
        "{ran}"
    );
    let receipt = world.receipt();
    assert_eq!(receipt["worktrees"][3]["task"], json!("cover the parser"));
    let ran = world.paw(&["remove", "feat-c", "d"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(branches(&world), [json!("feat/a"), json!("feat/b")]);
    let ran = world.paw(&["add", "feat/e", "feat/a"]);
    assert!(ran.code == 1 && !world.worktree("feat/e").exists(), "checked before anything is created: {ran}");
}

#[test]
fn pane_layout_after_add_and_remove_equals_that_of_a_new_session() {
    let world = World::with_broker();
    for branch in ["feat/c", "feat/d", "feat/e", "feat/f"] {
        let ran = world.paw(&["add", branch]);
        assert_eq!(ran.code, 0, "{ran}");
    }
    let six = sizes(&world);
    let started = World::empty();
    started.sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
    let all = "feat/a,feat/b,feat/c,feat/d,feat/e,feat/f";
    let ran = started.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", all]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(six, sizes(&started));
    let ran = world.paw(&["remove", "feat/b"]);
    assert_eq!(ran.code, 0, "{ran}");
    let marks: Vec<_> = world.panes().into_iter().map(|(mark, _)| mark).collect();
    assert_eq!(marks, ["dashboard", "feat-a", "feat-c", "feat-d", "feat-e", "feat-f"]);
    let heights = world.tmux(&["list-panes", "-t", "=paw-app:", "-F", "#{pane_height}"]);
    assert_eq!(heights.lines().collect::<Vec<_>>(), ["29", "19", "19", "19", "19", "19"]);
}

#[test]
fn added_agent_has_an_identity_and_is_watched() {
    let world = World::with_broker();
    wait_until("the broker runs", || (world.status()["broker"]["running"] == json!(true)).then_some(()));
    let ran = world.paw(&["add", "feat/c"]);
    assert!(ran.code == 0 && ran.stderr.is_empty(), "{ran}");
    let pane = world.pane("feat-c").unwrap();
    world.wait_for_program("feat-c", "sleep");
    world.tmux(&["send-keys", "-t", &pane, "C-c"]);
    world.wait_for_program("feat-c", "sh");
    let say = format!("{} say status busy && echo was-'said'", crate::paw::PROGRAM);
    world.tmux(&["send-keys", "-t", &pane, &say, "Enter"]);
    wait_until("the new agent speaks", || {
        world.tmux(&["capture-pane", "-p", "-t", &pane]).contains("was-said").then_some(())
    });
    fs::write(world.worktree("feat/c").join("new-file"), "x").unwrap();
    wait_until("its change is noticed", || world.history().contains("new-file").then_some(()));
}

#[test]
fn add_refuses_invalid_requests_before_it_creates_anything() {
    let world = World::new();
    for (args, problem) in [
        (&["add", "feat/a"][..], "already"),
        (&["add", "main"], "main"),
        (&["add", "bad..name"], "Invalid branch name"),
        (&["add", "feat/c", "--cli", "nope"], "nope"),
        (&["add", "--from-spec", "nope"], "this repository has no specs"),
    ] {
        let ran = world.paw(args);
        assert!(ran.code == 1 && ran.stderr.contains(problem), "{args:?}: {ran}");
    }
    assert_eq!(world.panes().len(), 2);
    assert!(!world.worktree("feat/c").exists() && !world.has_branch("feat/c"));
}

#[test]
fn add_to_a_stopped_session_says_how_to_resume_it() {
    let world = World::new();
    world.paw(&["stop"]);
    let ran = world.paw(&["add", "feat/c"]);
    assert!(ran.code == 1 && ran.stderr.contains("git paw start"), "{ran}");
    assert!(!world.worktree("feat/c").exists() && !world.has_branch("feat/c"));
}

#[test]
fn add_rolls_back_if_the_pane_cannot_be_created() {
    let world = World::new();
    let receipt = world.receipt();
    // Without marks the position of the new pane is unknown.
    for (_, id) in world.panes() {
        world.tmux(&["set-option", "-p", "-u", "-t", &id, "@paw_agent"]);
    }
    let ran = world.paw(&["add", "feat/c"]);
    assert!(ran.code == 1 && ran.stderr.contains("no pane"), "{ran}");
    assert!(!world.worktree("feat/c").exists() && !world.has_branch("feat/c"));
    assert_eq!(world.receipt(), receipt);
}

#[test]
fn add_from_spec_takes_branch_and_cli_from_it() {
    let world = World::new();
    world.sandbox.install_program("codex", "#!/bin/sh\nexec sleep 1000\n");
    world.repo.write("specs/add-auth/tasks.md", "---\npaw_cli: codex\n---\n- [ ] Log in\n");
    world.repo.git(["add", "specs"]);
    world.repo.git(["commit", "--quiet", "--message", "spec"]);
    let ran = world.paw(&["add", "--from-spec", "add-auth"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "added spec/add-auth → codex\n"), "{ran}");
    let agent = &world.receipt()["worktrees"][2];
    assert_eq!(agent["spec"], json!("add-auth"));
    let briefing = fs::read_to_string(world.worktree("spec/add-auth").join("AGENTS.md")).unwrap();
    assert!(briefing.contains("Log in"), "{briefing}");
}

#[test]
fn add_keeps_the_specs_of_other_agents() {
    let world = World::empty();
    world.repo.write("specs/add-auth/tasks.md", "---\nfiles: [src/auth.rs]\n---\n- [ ] Log in\n");
    world.repo.git(["add", "specs"]);
    world.repo.git(["commit", "--quiet", "--message", "spec"]);
    let args = ["start", "--supervisor", "--cli", "claude", "--from-all-specs"];
    let ran = world.paw(&args);
    assert_eq!(ran.code, 0, "{ran}");
    let supervisor = world.repo.root.join(".git-paw/AGENTS.local.md");
    let before = fs::read_to_string(&supervisor).unwrap();
    assert!(before.contains("add-auth"), "{before}");
    let ran = world.paw(&["add", "feat/c"]);
    assert_eq!(ran.code, 0, "{ran}");
    let after = fs::read_to_string(&supervisor).unwrap();
    for line in before.lines() {
        assert!(after.lines().any(|kept| kept == line), "lost: {line}\n{after}");
    }
    assert!(after.contains("feat/c"), "{after}");
}

#[test]
fn agent_added_to_a_paused_session_runs_after_the_pause() {
    let world = World::with_broker();
    world.paw(&["pause"]);
    assert_eq!(world.paw(&["add", "feat/c"]).code, 0);
    assert_eq!(world.status()["status"], json!("paused"));
    assert_eq!(world.paw(&["start"]).code, 0);
    assert!(world.pane("feat-c").is_some());
}

#[test]
fn concurrent_adds_keep_both_agents() {
    let world = World::new();
    let add = |branch: &str| {
        let mut command = world.sandbox.command(crate::paw::PROGRAM);
        command.current_dir(&world.repo.root).args(["add", branch]).stderr(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut both = [add("feat/c"), add("feat/d")];
    let done = both
        .iter_mut()
        .filter_map(|child| child.wait().ok())
        .filter(std::process::ExitStatus::success)
        .count();
    assert!(done >= 1);
    assert_eq!((branches(&world).len(), world.panes().len()), (2 + done, 2 + done));
}
