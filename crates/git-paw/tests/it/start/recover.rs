//! Starts with an existing session.

use paw_testkit::wait_until;

use super::World;

#[test]
fn start_does_not_start_a_running_session_twice() {
    for mode in [&["--no-supervisor"][..], &["--supervisor"][..]] {
        let world = World::new();
        let args: Vec<_> = mode.iter().copied().chain(["--branches", "feat/a"]).collect();
        world.start(&args);
        let again = world.start(&args);
        assert!(again.stdout.starts_with("Session 'paw-app' is running.\nAttach with:"), "{again}");
        assert!(again.stderr.contains("session 'paw-app' already exists"), "{again}");
        assert_eq!(world.sessions(), ["paw-app"]);
        assert_eq!(world.worktrees(), ["app-feat-a"]);
    }
}

#[test]
fn start_rebuilds_the_session_after_kill_server() {
    for (mode, marks) in [
        ("--no-supervisor", vec!["feat-a", "feat-b"]),
        ("--supervisor", vec!["supervisor", "dashboard", "feat-a", "feat-b"]),
    ] {
        let world = World::new();
        world.start(&[mode, "--branches", "feat/a,feat/b"]);
        world.wait_for("paw-app", "feat-b", "agent feat-b in");
        let id = world.receipt("paw-app")["created_at"].clone();
        world.sandbox.tmux(["kill-server"]);
        wait_until("the server is gone", || world.sessions().is_empty().then_some(()));
        let again = world.start(&[]);
        assert!(again.stdout.starts_with("Session 'paw-app' was rebuilt.\n"), "{again}");
        assert_eq!(world.panes("paw-app", "#{@paw_agent}"), marks);
        world.wait_for("paw-app", "feat-a", "agent feat-a in");
        assert_eq!(world.receipt("paw-app")["created_at"], id);
    }
}

#[test]
fn start_skips_a_damaged_receipt_and_does_not_change_it() {
    let world = World::new();
    let file = world.sandbox.write("home/.local/share/git-paw/sessions/paw-app.json", "{\"session_");
    let ran = world.start(&["--branches", "feat/a"]);
    assert!(ran.stderr.contains("skipped ") && ran.stderr.contains("paw-app.json: "), "{ran}");
    assert_eq!(world.sessions(), ["paw-app-2"]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{\"session_");
}

#[test]
fn start_fails_on_a_receipt_of_a_newer_version() {
    let world = World::new();
    world.start(&["--branches", "feat/a"]);
    let file = world.sandbox.home().join(".local/share/git-paw/sessions/paw-app.json");
    let newer = std::fs::read_to_string(&file).unwrap().replace("\"format\": 1", "\"format\": 9");
    std::fs::write(&file, &newer).unwrap();
    let ran = world.paw(&["start"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("newer git-paw") && ran.stderr.contains("paw-app.json"), "{ran}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), newer);
}

#[test]
fn start_finds_the_session_of_a_moved_repository() {
    let world = World::new();
    world.configure("[logging]\nenabled = true\n");
    world.start(&["--branches", "feat/a"]);
    world.sandbox.tmux(["kill-server"]);
    wait_until("the server is gone", || world.sessions().is_empty().then_some(()));
    let moved = world.sandbox.root().join("moved");
    std::fs::rename(&world.repo.root, &moved).unwrap();
    let ran = crate::paw::paw(&world.sandbox, &moved, &["start"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("this repository was at [SANDBOX]/app"), "{ran}");
    world.wait_for("paw-app", "feat-a", "agent feat-a in");
    let worktree = world.sandbox.root().join("app-feat-a");
    assert_eq!(paw_testkit::git(&worktree, ["branch", "--show-current"]), "feat/a");
    let receipt = world.receipt("paw-app");
    assert_eq!(receipt["repo_path"], moved.to_str().unwrap());
    assert_eq!(receipt["log_dir"], moved.join(".git-paw/logs").to_str().unwrap());
}

#[test]
fn start_finishes_a_start_that_was_killed() {
    for moment in [
        "start:recorded",
        "start:worktrees-made",
        "start:receipt-saved",
        "start:panes-next",
        "start:panes-made",
    ] {
        let mut world = World::new();
        world.sandbox.set("GIT_PAW_CRASH_AT", moment);
        let args = ["start", "--supervisor", "--branches", "feat/a,feat/b"];
        let died = world.paw(&args);
        assert_eq!(died.code, -1, "{moment}: {died}");
        world.sandbox.set("GIT_PAW_CRASH_AT", "");
        let again = world.paw(&args);
        assert_eq!(again.code, 0, "{moment}: {again}");
        assert_eq!(world.sessions(), ["paw-app"], "{moment}");
        let marks = world.panes("paw-app", "#{@paw_agent}");
        assert_eq!(marks, ["supervisor", "dashboard", "feat-a", "feat-b"], "{moment}");
        world.wait_for("paw-app", "feat-b", "agent feat-b in");
        world.wait_for("paw-app", "dashboard", "feat/b");
        assert_eq!(world.worktrees(), ["app-feat-a", "app-feat-b"], "{moment}");
    }
}

#[test]
fn purge_removes_everything_that_a_killed_start_left() {
    for moment in ["start:recorded", "create:filled", "start:worktrees-made"] {
        let mut world = World::new();
        world.sandbox.set("GIT_PAW_CRASH_AT", moment);
        let died = world.paw(&["start", "--no-supervisor", "--branches", "feat/a,feat/b"]);
        assert_eq!(died.code, -1, "{moment}: {died}");
        world.sandbox.set("GIT_PAW_CRASH_AT", "");
        let found = world.paw(&["doctor"]);
        assert!(found.stdout.contains("tmux has no such session"), "{moment}: {found}");
        let purged = world.paw(&["purge", "--force"]);
        assert_eq!((purged.code, purged.stdout.as_str()), (0, "Purged session 'paw-app'.\n"), "{moment}");
        assert_eq!(world.worktrees(), [""; 0], "{moment}");
        assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "main", "{moment}");
    }
}

#[test]
fn purge_removes_the_agent_that_a_killed_add_left() {
    for moment in ["add:recorded", "add:worktree-made"] {
        let mut world = World::new();
        world.start(&["--no-supervisor", "--branches", "feat/a"]);
        world.sandbox.set("GIT_PAW_CRASH_AT", moment);
        let died = world.paw(&["add", "feat/b"]);
        assert_eq!(died.code, -1, "{moment}: {died}");
        world.sandbox.set("GIT_PAW_CRASH_AT", "");
        let purged = world.paw(&["purge", "--force"]);
        assert_eq!(purged.code, 0, "{moment}: {purged}");
        assert_eq!(world.worktrees(), [""; 0], "{moment}");
        assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "main", "{moment}");
    }
}

#[test]
fn start_restores_an_agent_whose_pane_was_killed() {
    let world = World::new();
    world.start(&["--no-supervisor", "--branches", "feat/a,feat/b"]);
    world.wait_for("paw-app", "feat-a", "agent feat-a in");
    let pane = world.panes("paw-app", "#{@paw_agent} #{pane_id}");
    let pane = pane.iter().find_map(|line| line.strip_prefix("feat-a ")).unwrap().to_owned();
    world.sandbox.tmux(["kill-pane", "-t", &pane]);
    assert_eq!(world.panes("paw-app", "#{@paw_agent}"), ["feat-b"]);
    let again = world.paw(&["start"]);
    assert!(again.stderr.contains("restoring feat-a: its pane was closed"), "{again}");
    assert_eq!(world.panes("paw-app", "#{@paw_agent}"), ["feat-b", "feat-a"]);
    world.wait_for("paw-app", "feat-a", "agent feat-a in");
    let again = world.paw(&["start"]);
    assert!(!again.stderr.contains("restoring"), "{again}");
}

#[test]
fn start_completes_an_add_that_was_killed() {
    for moment in ["add:recorded", "add:worktree-made"] {
        let mut world = World::new();
        world.start(&["--no-supervisor", "--branches", "feat/a"]);
        world.sandbox.set("GIT_PAW_CRASH_AT", moment);
        assert_eq!(world.paw(&["add", "feat/b"]).code, -1, "{moment}");
        world.sandbox.set("GIT_PAW_CRASH_AT", "");
        let again = world.paw(&["start"]);
        assert_eq!(again.code, 0, "{moment}: {again}");
        assert_eq!(world.panes("paw-app", "#{@paw_agent}"), ["feat-a", "feat-b"], "{moment}");
        world.wait_for("paw-app", "feat-b", "agent feat-b in");
    }
}
