//! `git paw autopilot tui`, in a real tmux.
#![allow(clippy::disallowed_macros, clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs;

use paw_testkit::{Sandbox, Terminal, TestRepo, wait_until};

use crate::paw::{PROGRAM, paw};

const TASKS: &str = r#"{
  "master": {"tasks": [
    {"id": 41, "title": "Login", "status": "done"},
    {"id": 42, "title": "User \u001b[31mmetrics\u001b]0;evil\u0007", "status": "pending", "subtasks": [
      {"id": 1, "title": "Add part one", "status": "pending"}
    ]}
  ]},
  "other": {"tasks": [{"id": 1, "title": "Elsewhere"}]}
}"#;

/// Writes a failing test, then the code; each step waits for the file `go`.
const EXECUTOR: &str = r#"#!/bin/sh
cat > /dev/null
until [ -e "$HOME/go" ]; do sleep 0.05; done
case $PAW_PHASE in
RED) printf 'import unittest\n\nclass One(unittest.TestCase):\n    def test_a(self):\n        from app import one\n        self.assertEqual(one.value(), 1)\n' > tests/test_one.py ;;
GREEN) printf 'def value():\n    return 1\n' > app/one.py ;;
esac
"#;

const OLD_TEST: &str = "import unittest\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(1 + 1, 2)\n";

const SESSION: &str = "paw-autopilot-app";
const UNASKED: [&str; 5] = ["--", "--executor", "scripted", "--no-confirm", "--no-push"];

struct World {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file(".taskmaster/tasks/tasks.json", TASKS, "tasks");
        Self { sandbox, repo }
    }

    /// A world with task 42. `None` if Python is not installed.
    fn with_executor() -> Option<Self> {
        let world = Self::new();
        if !world.sandbox.install_python() {
            return None;
        }
        for (path, text) in
            [("app/__init__.py", ""), ("tests/__init__.py", ""), ("tests/test_old.py", OLD_TEST)]
        {
            world.repo.commit_file(path, text, "project");
        }
        let program = world.sandbox.install_program("scripted", EXECUTOR);
        let config = format!("[autopilot.executors.scripted]\ncommand = [\"{}\"]\n", program.display());
        world.sandbox.write("home/.config/git-paw/config.toml", &config);
        Some(world)
    }

    /// Lets the executor continue.
    fn go(&self) {
        self.sandbox.write("home/go", "");
    }

    fn open(&self, options: &[&str]) -> Terminal {
        let args = [&["autopilot", "tui"], options].concat();
        Terminal::run(&self.sandbox, &self.repo.root, PROGRAM, &args)
    }

    /// Pane ids of a session, the navigator's first.
    fn panes(&self, session: &str) -> Vec<String> {
        let target = format!("={session}:");
        let ran = self.sandbox.tmux(["list-panes", "-s", "-t", &target, "-F", "#{pane_left} #{pane_id}"]);
        let mut panes: Vec<(u32, String)> = ran
            .stdout
            .lines()
            .filter_map(|line| line.split_once(' ').map(|(left, id)| (left.parse().unwrap(), id.to_owned())))
            .collect();
        panes.sort();
        panes.into_iter().map(|(_, id)| id).collect()
    }

    fn both(&self, session: &str) -> (String, String) {
        wait_until("there are two panes", || {
            <[String; 2]>::try_from(self.panes(session)).ok().map(|[left, right]| (left, right))
        })
    }

    fn screen(&self, pane: &str) -> String {
        self.sandbox.tmux(["capture-pane", "-p", "-J", "-t", pane]).stdout
    }

    fn wait_for(&self, pane: &str, text: &str) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(&format!("{text:?} is on the screen"), || {
                last = self.screen(pane);
                last.contains(text).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("{text:?} is not on the screen:\n{last}"))
    }

    fn wait_until_in_front(&self, pane: &str, program: &str) {
        let format = "#{pane_current_command}";
        wait_until(&format!("{program} is in front"), || {
            let found = self.sandbox.tmux(["display-message", "-p", "-t", pane, format]).stdout;
            (found.trim() == program).then_some(())
        });
    }

    fn press(&self, pane: &str, keys: &[&str]) {
        let ran = self.sandbox.tmux([&["send-keys", "-t", pane], keys].concat());
        assert_eq!(ran.code, 0, "{ran}");
    }
}

#[test]
fn navigator_starts_a_task_detaches_and_reattaches() {
    let Some(world) = World::with_executor() else { return };
    let terminal = world.open(&UNASKED);
    let (left, right) = world.both(SESSION);
    let screen = world.wait_for(&left, "▸ 42 [pending] User metrics");
    assert!(screen.contains("Project: app") && screen.contains("Branch:  main"), "{screen}");
    assert!(screen.contains("Tag:     master  (1 of 2)") && screen.contains("1 of 2 done"), "{screen}");
    assert!(screen.contains("41 [done] Login") && screen.contains("▸ 42 [pending] User metrics"), "{screen}");

    world.press(&left, &["Down", "Enter"]);
    world.wait_for(&left, "42.1 [pending] Add part one");
    world.press(&left, &["s"]);
    world.wait_for(&right, "autopilot 42 --tag=master --executor");
    world.wait_for(&left, "RED, attempt 1 of 3");
    world.wait_for(&left, "Run of task 42: working, 0 of 1 done");
    world.wait_for(&left, "branch ok");
    world.wait_for(&left, "42.1 [in-progress] ◀ Add part one");
    world.wait_for(&left, "Branch:  master/task-42-");

    world.press(&left, &["q"]);
    world.wait_for(&left, "task 42 keeps running: press q again to leave");
    world.press(&left, &["q"]);
    terminal.wait_for(
        "tmux session 'paw-autopilot-app' keeps running; open it again with 'git paw autopilot tui'",
    );
    assert_eq!(terminal.finish(), 0);

    let terminal = world.open(&[]);
    assert_eq!(world.both(SESSION), (left.clone(), right.clone()));
    world.go();
    world.wait_for(&left, "Run of task 42: complete, 1 of 1 done");
    world.wait_for(&left, "▾ 42 [done] User metrics");
    world.wait_until_in_front(&right, "sh");
    world.press(&left, &["q"]);
    wait_until("the session is gone", || world.panes(SESSION).is_empty().then_some(()));
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn navigator_pauses_and_resumes_a_run_by_key() {
    let Some(world) = World::with_executor() else { return };
    let _terminal = world.open(&UNASKED);
    let (left, right) = world.both(SESSION);
    world.wait_for(&left, "42 [pending]");
    // Half-typed input in the pane does no harm.
    world.press(&right, &["-l", "rm -rf "]);
    world.press(&left, &["Down", "s"]);
    world.wait_for(&left, "RED, attempt 1 of 3");
    world.press(&left, &["p"]);
    world.wait_for(&left, "Pause requested");
    world.wait_for(&left, "Run of task 42: paused, 0 of 1 done");
    world.wait_for(&left, "[p] resume");
    world.go();
    world.wait_until_in_front(&right, "sh");
    // A key pressed twice starts the task once.
    world.press(&left, &["p", "p"]);
    world.wait_for(&right, "autopilot --resume --executor-mode");
    world.wait_for(&left, "Run of task 42: complete, 1 of 1 done");
    world.wait_until_in_front(&right, "sh");
    assert_eq!(
        world.screen(&right).matches("autopilot --resume --executor-mode").count(),
        1,
        "{}",
        world.screen(&right)
    );
    assert_eq!(world.repo.git(["log", "--format=%s", "-1"]), "feat(one): add part one (task 42.1)");
}

#[test]
fn navigator_asks_confirmation_in_the_executor_pane() {
    let Some(world) = World::with_executor() else { return };
    let _terminal = world.open(&["--", "--executor", "scripted", "--no-push"]);
    let (left, right) = world.both(SESSION);
    world.wait_for(&left, "42 [pending]");
    // Press twice: a second command would answer the question.
    world.press(&left, &["Down", "s", "s"]);
    world.wait_for(&right, "Create branch master/task-42-");
    let active = || world.sandbox.tmux(["display-message", "-p", "-t", &right, "#{pane_active}"]).stdout;
    wait_until("the other pane has the keys", || (active().trim() == "1").then_some(()));
    world.wait_for(&left, "task 42 asks in the other pane");
    world.press(&left, &["s"]);
    world.wait_for(&left, "the other pane is busy with 'git-paw'");
    world.press(&right, &["n", "Enter"]);
    wait_until("nothing was begun", || {
        (world.repo.git(["branch", "--show-current"]) == "main").then_some(())
    });
}

#[test]
fn navigator_splits_the_window_inside_tmux_and_restores_it() {
    let world = World::new();
    let root = world.repo.root.to_str().unwrap();
    let ran = world.sandbox.tmux([
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-s",
        "mine",
        "-x",
        "150",
        "-y",
        "30",
        "-c",
        root,
        "sh",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    let [own] = <[String; 1]>::try_from(world.panes("mine")).unwrap();
    world.press(&own, &["-l", &format!("{PROGRAM} autopilot tui --tag other")]);
    world.press(&own, &["Enter"]);
    let (left, _) = world.both("mine");
    assert_eq!(left, own);
    let screen = world.wait_for(&left, "1 [pending] Elsewhere");
    assert!(screen.contains("Tag:     other  (2 of 2)"), "{screen}");
    world.press(&left, &["Left"]);
    world.wait_for(&left, "42 [pending] User metrics");
    world.press(&left, &["q"]);
    wait_until("the other pane is gone", || (world.panes("mine").len() == 1).then_some(()));
    world.wait_until_in_front(&own, "sh");
    world.press(&own, &["-l", "echo here"]);
    world.wait_for(&own, "echo here");
}

#[test]
fn navigator_recreates_a_closed_pane_and_keeps_a_busy_one() {
    let world = World::new();
    let _terminal = world.open(&[]);
    let (left, right) = world.both(SESSION);
    world.wait_for(&left, "42 [pending]");
    world.sandbox.tmux(["kill-pane", "-t", &right]);
    world.press(&left, &["Down", "s"]);
    let (_, again) = world.both(SESSION);
    assert_ne!(again, right);
    // The executor fails to start, and the shell is back.
    world.wait_for(&again, "no executor to write tests");
    world.wait_until_in_front(&again, "sh");
    world.press(&again, &["-l", "sleep 1000"]);
    world.press(&again, &["Enter"]);
    world.wait_until_in_front(&again, "sleep");
    // Requests during a start are ignored.
    world.wait_for(&left, "task 42 asks in the other pane");
    world.press(&left, &["s"]);
    world.wait_for(&left, "the other pane is busy with 'sleep'");
}

#[test]
fn navigator_reports_missing_and_broken_task_files_and_follows_changes() {
    let world = World::new();
    let file = world.repo.root.join(".taskmaster/tasks/tasks.json");
    fs::remove_dir_all(world.repo.root.join(".taskmaster")).unwrap();
    let _terminal = world.open(&[]);
    let (left, _) = world.both(SESSION);
    world.wait_for(&left, "there are no tasks here");
    world.repo.write(".taskmaster/tasks/tasks.json", "{\"master\": <<<<<<< HEAD");
    world.wait_for(&left, "cannot read");
    fs::write(&file, TASKS).unwrap();
    world.wait_for(&left, "42 [pending] User metrics");
    let changed = paw(&world.sandbox, &world.repo.root, &["tasks", "set-status", "42", "blocked"]);
    assert_eq!(changed.code, 0, "{changed}");
    world.wait_for(&left, "42 [blocked] User metrics");
    world.repo.git(["switch", "--quiet", "--create", "feat/x"]);
    world.wait_for(&left, "Branch:  feat/x");
}

#[test]
fn navigator_shows_task_and_keys_in_a_small_window() {
    let world = World::new();
    let root = world.repo.root.to_str().unwrap();
    let size = ["-x", "40", "-y", "14"];
    let start = ["-f", "/dev/null", "new-session", "-d", "-s", "mine", "-c", root];
    assert_eq!(world.sandbox.tmux([&start[..], &size, &["sh"]].concat()).code, 0);
    let [own] = <[String; 1]>::try_from(world.panes("mine")).unwrap();
    world.press(&own, &["-l", &format!("{PROGRAM} autopilot tui")]);
    world.press(&own, &["Enter"]);
    world.wait_for(&own, "[s] start  [p] pause  [q] quit");
    world.press(&own, &["Down"]);
    world.wait_for(&own, "42 [pending] User metrics");
}

#[test]
fn navigator_without_a_terminal_names_alternatives() {
    let world = World::new();
    insta::assert_snapshot!(paw(&world.sandbox, &world.repo.root, &["autopilot", "tui"]), @r"
    exit 1
    --- stderr
    error: cannot start the navigator: stdin or stdout is not a terminal
    hint: use 'git paw tasks list' and 'git paw autopilot status' instead
    ");
}
