//! `git paw start --dry-run`

use paw_host::process::shell_quote;
use paw_testkit::{Terminal, wait_until};

use super::World;
use crate::paw::PROGRAM;

#[test]
fn dry_run_shows_session_plan_and_touches_nothing() {
    let world = World::new();
    let ran = world.start(&["--dry-run", "--cli", "agent", "--branches", "feat/a,feat/b"]);
    let (plan, commands) = ran.stdout.split_once("\n\n").unwrap();
    insta::assert_snapshot!(plan, @"
    Dry run — session plan:
      session     paw-app
      supervisor  none
      CLI         agent
      approval    manual: agents ask in their panes
      messages    off
      feat/a → agent (../app-feat-a)
      feat/b → agent (../app-feat-b)
    ");
    assert!(commands.starts_with("  tmux new-session -d -s paw-app -x 200 -y 50"), "{commands}");
    assert!(commands.contains("'cd [SANDBOX]/app-feat-a && agent' Enter"), "{commands}");
    world.assert_nothing_started();
    assert!(!world.repo.root.join(".git/paw").exists());
    assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn start_on_a_small_terminal_gives_each_agent_its_own_window_unless_a_layout_is_set() {
    let world = World::new();
    // The terminal has 120 columns: a grid of four panes would be 29 columns wide.
    let plan = |more: &[&str]| {
        let args = [&["start", "--dry-run", "--cli", "agent", "--branches", "a,b,c,d"], more].concat();
        let terminal = Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &args);
        terminal.wait_for("select-pane");
        terminal.shown()
    };
    let note = "4 panes in a grid would be too small in 120x40: each agent gets its own window";
    let shown = plan(&[]);
    assert!(shown.contains(note) && shown.contains("new-window"), "{shown}");
    let shown = plan(&["--layout", "grid"]);
    assert!(!shown.contains(note) && shown.contains("split-window"), "{shown}");
    world.configure("[layout]\nmode = \"grid\"\n");
    let shown = plan(&[]);
    assert!(!shown.contains(note) && shown.contains("split-window"), "{shown}");
}

#[test]
fn dry_run_of_a_supervised_session_shows_environment_and_logging_but_no_token() {
    let world = World::new();
    world.configure("[logging]\nenabled = true\n");
    let ran = world.start(&["--dry-run", "--supervisor", "--branches", "feat/a"]);
    assert!(ran.stdout.starts_with("Dry run — supervisor session plan:\n"), "{ran}");
    for part in [
        "  supervisor  agent\n",
        "  messages    http://127.0.0.1:9119 (or the next free port)\n",
        "tmux set-environment -t =paw-app: GIT_PAW_BROKER_URL http://127.0.0.1:9119",
        "tmux pipe-pane -o -t =paw-app:0.2 '",
        " __log-pane [SANDBOX]/app/.git-paw/logs/paw-app/feat--a.log'",
        "-e 'GIT_PAW_BROKER_TOKEN=[redacted]'",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    world.assert_nothing_started();
}

#[test]
fn dry_run_says_whether_an_existing_session_is_attached_resumed_or_rebuilt() {
    let world = World::new();
    world.start(&["--cli", "agent", "--branches", "feat/a"]);
    for (command, said) in [
        (None, "is running: a start would attach to it"),
        (Some("pause"), "is paused: a start would resume it"),
        (Some("stop"), "is stopped: a start would rebuild it"),
    ] {
        if let Some(command) = command {
            assert_eq!(world.paw(&[command]).code, 0);
        }
        let ran = world.start(&["--dry-run"]);
        assert!(ran.stdout.contains(&format!("session 'paw-app' {said}.\n  feat/a → agent\n")), "{ran}");
    }
    let ran = world.start(&["--dry-run", "--cli", "agent", "--branches", "feat/b"]);
    assert!(
        ran.stderr.contains("session 'paw-app' already exists: flags for a new session are ignored"),
        "{ran}"
    );
    assert_eq!(world.worktrees(), ["app-feat-a"]);
}

#[test]
fn dry_run_fails_like_the_start_would() {
    let world = World::new();
    let ran = world.paw(&["start", "--dry-run", "--cli", "unknown", "--branches", "feat/a"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("CLI 'unknown' not found"), "{ran}");
}

#[test]
fn start_rejects_twenty_six_supervised_agents_before_it_changes_anything() {
    let world = World::new();
    let branches: Vec<_> = (1..=26).map(|number| format!("feat/{number}")).collect();
    let ran = world.paw(&["start", "--supervisor", "--branches", &branches.join(",")]);
    insta::assert_snapshot!(ran, @"
    exit 1
    --- stderr
    error: 26 agents requested, but a session with a supervisor has at most 25
    hint: split the work into multiple sessions: git paw start --branches <subset>
    ");
    world.assert_nothing_started();
}

#[test]
fn preset_not_found_returns_error() {
    let world = World::new();
    let ran = world.paw(&["start", "--preset", "nonexistent"]);
    insta::assert_snapshot!(ran, @"
    exit 1
    --- stderr
    error: preset 'nonexistent' not found
    hint: add a [presets.<name>] section to .git-paw/config.toml
    ");
}

#[test]
fn preset_sets_branches_and_cli() {
    let world = World::new();
    world.configure("[presets.backend]\nbranches = [\"feat/api\", \"feat/db\"]\ncli = \"agent\"\n");
    let ran = world.start(&["--dry-run", "--preset", "backend"]);
    assert!(ran.stdout.contains("  feat/api → agent (../app-feat-api)\n  feat/db → agent"), "{ran}");
}

#[test]
fn start_refuses_an_invalid_branch_name_with_the_rule() {
    let world = World::new();
    let ran = world.paw(&["start", "--branches", "feat/a,bad..name"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("'bad..name' contains '..'"), "{ran}");
    world.assert_nothing_started();
}

#[test]
fn start_refuses_the_branch_of_the_main_checkout() {
    let world = World::new();
    let ran = world.paw(&["start", "--branches", "feat/a,main"]);
    assert!(
        ran.stderr
            .contains("cannot start an agent on 'main': it is already checked out in your main checkout"),
        "{ran}"
    );
    world.assert_nothing_started();
}

/// Asserts that the printed command of an agent is the one that is recorded and typed.
fn assert_dry_run_prints_what_is_typed(config: &str, flags: &[&str]) {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let world = World::new();
        world.configure(config);
        world.sandbox.install_program(cli, "#!/bin/sh\nexec sleep 600\n");
        world.sandbox.write("home/.codex/config.toml", "[features]\nhooks = true\n");
        let args: Vec<_> = ["--cli", cli, "--branches", "feat/a"].iter().chain(flags).copied().collect();
        let dry = world.start(&[&args[..], &["--dry-run"]].concat()).stdout;
        world.start(&args);
        let command = world.receipt("paw-app")["worktrees"][0]["command"].as_str().unwrap().to_owned();
        let line = format!("cd {} && {command}", world.sandbox.root().join("app-feat-a").display());
        let printed = format!(" {} Enter\n", world.sandbox.redact(&shell_quote(line.as_ref())));
        assert!(dry.contains(&printed), "{cli}: {printed}{dry}");
        wait_until(&format!("{cli} is typed"), || {
            let panes = world.panes("paw-app", "#{pane_id} #{@paw_agent}");
            let pane = panes.iter().find_map(|pane| pane.strip_suffix(" feat-a"))?;
            let shown = world.sandbox.tmux(["capture-pane", "-p", "-J", "-S", "-", "-t", pane]).stdout;
            shown.contains(&world.sandbox.redact(&line)).then_some(())
        });
        assert_eq!(command.contains("git-paw"), !config.is_empty() && cli == "codex", "{command}");
        assert_eq!(command.contains("plugin"), !config.is_empty() && cli == "opencode", "{command}");
    }
}

#[test]
fn dry_run_prints_the_command_of_an_agent_without_a_broker() {
    assert_dry_run_prints_what_is_typed("", &[]);
}

#[test]
fn dry_run_prints_the_command_of_an_agent_with_hooks() {
    assert_dry_run_prints_what_is_typed("[broker]\nenabled = true\n", &[]);
}

#[test]
fn dry_run_prints_the_command_of_a_supervised_agent() {
    assert_dry_run_prints_what_is_typed("[supervisor]\nagent_approval = \"full-auto\"\n", &["--supervisor"]);
}
