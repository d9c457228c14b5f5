//! Starts with and without a terminal.

use std::fs;

use paw_testkit::{Terminal, wait_until};

use super::World;
use crate::paw::PROGRAM;

#[test]
fn non_tty_bare_start_exits_cleanly_with_attach_hint() {
    let world = World::new();
    world.configure("[broker]\nenabled = false\n");
    let ran = world.start(&["--branches", "feat/x,feat/y"]);
    insta::assert_snapshot!(ran, @"
    exit 0
    --- stdout
    Session 'paw-app' started in detached mode.
    Attach with: tmux attach -t paw-app
    ");
    assert_eq!(world.sessions(), ["paw-app"]);
    world.wait_for("paw-app", "feat-x", "agent feat-x in");
    let receipt = world.receipt("paw-app");
    assert_eq!(receipt["status"], "active");
    assert_eq!(receipt["worktrees"].as_array().unwrap().len(), 2);
    assert_eq!(receipt["worktrees"][0]["branch_created"], true);
}

#[test]
fn headless_supervisor_launch_succeeds_under_socket_isolation() {
    let world = World::new();
    let ran = world.start(&["--supervisor", "--branches", "a,b"]);
    insta::assert_snapshot!(ran, @"
    exit 0
    --- stdout
    Supervisor session 'paw-app' launched with 2 coding agent(s).
    Session 'paw-app' started in detached mode.
    Supervisor mode requires an interactive terminal: attach to talk to it.
    Attach with: tmux attach -t paw-app
    ");
    assert_eq!(
        world.panes("paw-app", "#{pane_index} #{@paw_agent}"),
        ["0 supervisor", "1 dashboard", "2 a", "3 b"]
    );
    world.wait_for("paw-app", "dashboard", "paw-app");
    world.wait_for("paw-app", "supervisor", "agent supervisor in");
}

#[test]
fn dashboard_lists_the_agents_and_records_its_port() {
    let world = World::new();
    let theirs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    world.configure(&format!("[broker]\nport = {}\n", theirs.local_addr().unwrap().port()));
    world.start(&["--supervisor", "--branches", "feat/a"]);
    world.wait_for("paw-app", "dashboard", "feat/a");
    let endpoint = world.repo.root.join(".git/paw/endpoint.json");
    let endpoint = paw_testkit::wait_until("the broker runs", || fs::read_to_string(&endpoint).ok());
    let endpoint: serde_json::Value = serde_json::from_str(&endpoint).unwrap();
    let receipt = world.receipt("paw-app");
    let url = format!("http://127.0.0.1:{}", receipt["broker_port"]);
    assert_eq!(endpoint["url"], url.as_str());
    let created = receipt["created_at"].as_str().unwrap().replace(['-', ':'], "");
    assert_eq!(endpoint["session"].as_str().unwrap()[..23], format!("paw-app@{created}")[..23]);
}

#[test]
fn default_start_rebases_an_existing_branch_and_no_rebase_leaves_it() {
    for (flag, rebased) in [(None, true), (Some("--no-rebase"), false)] {
        let world = World::new();
        world.repo.git(["branch", "feat/a"]);
        let tip = world.repo.commit_file("new.txt", "new", "on main");
        let args: Vec<_> = ["--branches", "feat/a"].into_iter().chain(flag).collect();
        world.start(&args);
        assert_eq!(world.repo.git(["rev-parse", "feat/a"]) == tip, rebased);
        assert_eq!(world.receipt("paw-app")["worktrees"][0]["branch_created"], false);
    }
}

#[test]
fn start_without_tmux_says_how_to_install_it_and_creates_nothing() {
    let world = World::new();
    fs::rename(world.sandbox.root().join("tools/tmux"), world.sandbox.root().join("tmux.away")).unwrap();
    let ran = world.paw(&["start", "--branches", "feat/a"]);
    fs::rename(world.sandbox.root().join("tmux.away"), world.sandbox.root().join("tools/tmux")).unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("apt install tmux"), "{ran}");
    world.assert_nothing_started();
}

#[test]
fn start_without_any_cli_says_how_to_install_one() {
    let world = World::new();
    world.sandbox.write("home/.config/git-paw/config.toml", "");
    let ran = world.paw(&["start", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no AI coding CLI found"), "{ran}");
}

#[test]
fn start_refuses_a_repository_without_commits() {
    let world = World::new();
    let empty = world.sandbox.root().join("empty");
    fs::create_dir(&empty).unwrap();
    world.sandbox.run(&empty, "git", ["init", "--quiet"]);
    let ran = crate::paw::paw(&world.sandbox, &empty, &["start", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no commit"), "{ran}");
    assert_eq!(world.sessions(), [""; 0]);
}

#[test]
fn start_works_with_a_detached_head() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "--detach"]);
    world.start(&["--branches", "feat/a,main"]);
    world.wait_for("paw-app", "main", "agent main in");
}

#[test]
fn tty_launch_attaches_as_before() {
    let world = World::new();
    let args = ["start", "--no-supervisor", "--cli", "agent", "--branches", "feat/x,feat/y"];
    let terminal = Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &args);
    terminal.wait_for("feat-y");
    paw_testkit::wait_until("a client is attached", || {
        let clients = world.sandbox.tmux(["list-clients", "-F", "#{session_name}"]);
        (clients.stdout.trim() == "paw-app").then_some(())
    });
    assert!(!terminal.shown().contains("detached mode"));
    world.sandbox.tmux(["detach-client", "-s", "=paw-app:"]);
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn pane_finds_a_cli_that_a_login_shell_would_hide() {
    let world = World::new();
    world.sandbox.write("home/.tmux.conf", "set -g default-shell /bin/bash\n");
    world.sandbox.write("home/.bash_profile", "PATH=/usr/bin:/bin\n");
    world.start(&["--supervisor", "--branches", "feat/a"]);
    world.wait_for("paw-app", "supervisor", "agent supervisor in");
    world.wait_for("paw-app", "feat-a", "agent feat-a in");
    let ran = world.paw(&["add", "feat/b", "--cli", "agent"]);
    assert_eq!(ran.code, 0, "{ran}");
    world.wait_for("paw-app", "feat-b", "agent feat-b in");
}

#[test]
fn session_files_are_ignored_by_git() {
    let world = World::new();
    world.configure("[logging]\nenabled = true\n");
    world.start(&["--supervisor", "--branches", "feat/a"]);
    world.wait_for("paw-app", "feat-a", "agent feat-a in");
    world.wait_for("paw-app", "dashboard", "feat/a");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
    let worktree = world.sandbox.root().join("app-feat-a");
    assert_eq!(paw_testkit::git(&worktree, ["status", "--porcelain"]), "");
}

#[test]
fn start_inside_tmux_switches_the_client_to_the_session() {
    let world = World::new();
    world.sandbox.tmux([
        "new-session",
        "-d",
        "-s",
        "mine",
        "-x",
        "120",
        "-y",
        "40",
        "-c",
        world.repo.root.to_str().unwrap(),
    ]);
    let terminal = Terminal::run(&world.sandbox, &world.repo.root, "tmux", &["attach", "-t", "=mine:"]);
    paw_testkit::wait_until("a client is attached", || {
        world.sandbox.tmux(["list-clients", "-F", "#{session_name}"]).stdout.contains("mine").then_some(())
    });
    let line = format!("{PROGRAM} start --no-supervisor --cli agent --branches feat/a");
    world.sandbox.tmux(["send-keys", "-t", "=mine:", &line, "Enter"]);
    paw_testkit::wait_until("the client was switched", || {
        world.sandbox.tmux(["list-clients", "-F", "#{session_name}"]).stdout.contains("paw-app").then_some(())
    });
    world.sandbox.tmux(["detach-client", "-s", "=paw-app:"]);
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn start_in_a_pane_of_another_tmux_server_uses_the_default_server_and_attaches() {
    let world = World::new();
    let line = format!("{PROGRAM} start --no-supervisor --cli agent --branches feat/a; exec sleep 600");
    let root = world.repo.root.to_str().unwrap();
    let ran =
        world.sandbox.tmux(["-L", "other", "new-session", "-d", "-x", "120", "-y", "40", "-c", root, &line]);
    assert_eq!(ran.code, 0, "{ran}");
    paw_testkit::wait_until("the session is shown in that pane", || {
        let clients = world.sandbox.tmux(["list-clients", "-F", "#{session_name}"]).stdout;
        (clients == "paw-app\n").then_some(())
    });
    let line = format!("cd {root} && {PROGRAM} status >../status 2>&1");
    let ran = world.sandbox.tmux(["-L", "other", "run-shell", &line]);
    assert_eq!(ran.code, 0, "{ran}");
    let status = fs::read_to_string(world.sandbox.root().join("status")).unwrap();
    assert!(status.contains("paw-app active"), "{status}");
}

#[test]
fn start_without_flags_prompts_for_everything() {
    let world = World::new();
    // With only one CLI there would be no prompt for it.
    world.sandbox.install_program("claude", "#!/bin/sh\nexec sleep 600\n");
    world.repo.git(["branch", "feat/one"]);
    let mut terminal = Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &[]);
    terminal.wait_for("supervisor mode?");
    terminal.send("n\r");
    terminal.wait_for("Branches");
    terminal.send("feat");
    terminal.send(" \r");
    terminal.wait_for("Agent");
    terminal.send("\r");
    paw_testkit::wait_until("a client is attached", || {
        world.sandbox.tmux(["list-clients", "-F", "#{session_name}"]).stdout.contains("paw-app").then_some(())
    });
    assert_eq!(world.panes("paw-app", "#{@paw_agent}"), ["feat-one"]);
    world.sandbox.tmux(["detach-client", "-s", "=paw-app:"]);
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn ctrl_c_at_the_prompt_starts_nothing() {
    let world = World::new();
    world.repo.git(["branch", "feat/one"]);
    let mut terminal =
        Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &["start", "--no-supervisor"]);
    terminal.wait_for("Branches");
    terminal.send("\x03");
    assert_eq!(terminal.finish(), 2);
    world.assert_nothing_started();
}

#[test]
fn start_works_in_a_bare_repository() {
    for mode in ["--no-supervisor", "--supervisor"] {
        let world = World::new();
        let bare = world.sandbox.root().join("bare.git");
        world.sandbox.run(&world.sandbox.root(), "git", ["clone", "--quiet", "--bare", "app", "bare.git"]);
        let ran = crate::paw::paw(&world.sandbox, &bare, &["start", mode, "--branches", "feat/a"]);
        assert_eq!(ran.code, 0, "{ran}");
        world.wait_for("paw-bare", "feat-a", "agent feat-a in");
        assert!(world.sandbox.root().join("bare-feat-a/README.md").exists());
    }
}

#[test]
fn start_initializes_submodules_in_new_worktrees() {
    let mut world = World::new();
    let library = world.sandbox.repo("library");
    world.sandbox.set("GIT_ALLOW_PROTOCOL", "file");
    world.repo.add_submodule(&library.root, "lib");
    world.start(&["--branches", "feat/a"]);
    assert!(world.sandbox.root().join("app-feat-a/lib/README.md").exists());
}

#[test]
fn briefing_contains_docs_base_url() {
    let world = World::new();
    world.configure("docs_base_url = \"https://docs.example/paw\"\n[broker]\nenabled = true");
    world.start(&["--no-supervisor", "--branches", "feat/a"]);
    let briefing = std::fs::read_to_string(world.sandbox.root().join("app-feat-a/AGENTS.md")).unwrap();
    assert!(briefing.contains("The guide is also at <https://docs.example/paw>."), "{briefing}");
}

#[test]
fn start_warns_about_a_key_without_effect() {
    let world = World::new();
    world.configure("[supervisor]\nauto_revert = true\n[supervisor.tell]\ninventory_max_age_seconds = 5");
    let ran = world.start(&["--no-supervisor", "--branches", "feat/a"]);
    for key in ["supervisor.auto_revert", "supervisor.tell.inventory_max_age_seconds"] {
        assert!(ran.stderr.contains(&format!("{key} has no effect: ")), "{ran}");
    }
}

#[test]
fn start_attaches_although_stderr_is_a_file() {
    let world = World::new();
    let start = format!("{PROGRAM} start --no-supervisor --cli agent --branches feat/a 2> log");
    let terminal = Terminal::run(&world.sandbox, &world.repo.root, "sh", &["-c", &start]);
    terminal.wait_for("agent feat-a in");
    wait_until("a client is attached", || {
        let clients = world.sandbox.tmux(["list-clients", "-t", "=paw-app:"]).stdout;
        (!clients.is_empty()).then_some(())
    });
    world.sandbox.tmux(["detach-client", "-s", "=paw-app:"]);
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn start_prints_the_attach_command_if_it_cannot_attach() {
    let world = World::new();
    let socket = format!("paw-attach-{}", std::process::id());
    world.configure(&format!("[tmux]\nsocket = \"{socket}\"\n"));
    world.start(&["--cli", "agent", "--branches", "feat/a"]);
    let ran = world.paw(&["attach"]);
    world.sandbox.run(&world.repo.root, "tmux", ["-L", &socket, "kill-server"]);
    assert!(ran.stderr.contains(&format!("hint: tmux -L {socket} attach -t paw-app")), "{ran}");
}

#[test]
fn start_names_the_files_of_a_failed_rebase_and_the_flag_against_it() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "-b", "feat/a"]);
    world.repo.commit_file("README.md", "theirs\n", "theirs");
    world.repo.git(["checkout", "--quiet", "main"]);
    world.repo.commit_file("README.md", "ours\n", "ours");
    let ran = world.paw(&["start", "--cli", "agent", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("rebase onto main failed"), "{ran}");
    assert!(
        ran.stderr.contains("these files conflict: README.md") && ran.stderr.contains("--no-rebase"),
        "{ran}"
    );
    assert_eq!(world.worktrees(), [""; 0]);
    world.start(&["--cli", "agent", "--branches", "feat/a", "--no-rebase"]);
}

#[test]
fn start_refuses_an_occupied_path_and_a_branch_that_is_checked_out_elsewhere() {
    let world = World::new();
    std::fs::create_dir(world.sandbox.root().join("app-feat-a")).unwrap();
    let ran = world.paw(&["start", "--cli", "agent", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stderr.contains("path '[SANDBOX]/app-feat-a' already exists and is not its worktree"),
        "{ran}"
    );
    assert!(ran.stderr.contains("hint: move or remove it, or use a branch with another name"), "{ran}");
    world.repo.git(["worktree", "add", "--quiet", "-b", "feat/b", "../elsewhere"]);
    let ran = world.paw(&["start", "--cli", "agent", "--branches", "feat/b"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("it is already checked out at [SANDBOX]/elsewhere"),
        "{ran}"
    );
}

#[test]
fn start_of_several_agents_mentions_messages_once() {
    let world = World::new();
    let start = || world.paw(&["start", "--cli", "agent", "--branches", "feat/a,feat/b"]).stderr;
    assert!(start().contains("[broker] enabled = true"));
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(!start().contains("[broker]"), "only once per repository");
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    let other = World::new();
    other.configure("[broker]\nenabled = false\n");
    let ran = other.start(&["--cli", "agent", "--branches", "feat/a,feat/b"]);
    assert!(!ran.stderr.contains("[broker]"), "the user has decided: {ran}");
}

#[test]
fn setup_warnings_print_once_and_without_escapes_when_piped() {
    let world = World::new();
    world
        .sandbox
        .install_program("prepare", "#!/bin/sh\nprintf '\\033[33mdeprecated\\033[0m\\n' >&2\nexit 3\n");
    world.configure("[worktree]\nsetup_commands = [\"prepare\"]\n");
    let problem = "setup failed: prepare exited with code 3";
    let ran = world.start(&["--cli", "agent", "--branches", "feat/a"]);
    assert_eq!(ran.stderr.matches("exited with code 3").count(), 1, "{ran}");
    assert!(ran.stderr.contains(&format!("warning: feat/a: {problem}")), "{ran}");
    assert_eq!(ran.stderr.matches("deprecated").count(), 1, "{ran}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran}");

    let terminal = Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &["add", "feat/b"]);
    terminal.wait_for("added feat/b");
    let shown = terminal.shown();
    assert_eq!(shown.matches("exited with code 3").count(), 1, "{shown:?}");
    assert_eq!(terminal.finish(), 0);
}
