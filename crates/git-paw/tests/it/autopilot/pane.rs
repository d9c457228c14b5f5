//! `--pane`: the executor in a window of the session.

use std::fs;
use std::process::{Child, Stdio};

use paw_testkit::{git, wait_until};
use serde_json::Value;

use super::world::{World, is_gone};
use crate::paw::{PROGRAM, paw};

const IN_PANE: [&str; 6] = ["42", "--executor", "scripted", "--no-confirm", "--no-push", "--pane"];
/// Waits for the file `go`, and prints that it waits.
const WAITING: &str = "echo here is $PAW_SUBTASK $PAW_PHASE; echo $$ > \"$HOME/pid.new\"; mv \"$HOME/pid.new\" \"$HOME/pid\"\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\ncase $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n";

/// A world with a session of one agent.
fn with_session() -> Option<World> {
    let world = World::find()?;
    world.sandbox.install_program("claude", "#!/bin/sh\nexec sleep 1000\n");
    let start = ["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"];
    let ran = paw(&world.sandbox, &world.repo.root, &start);
    assert_eq!(ran.code, 0, "{ran}");
    Some(world)
}

/// The panes of the window of task 42: id, whether it is dead, where it is.
fn panes(world: &World) -> Vec<(String, bool, String)> {
    let format = "#{window_name}\t#{pane_id}\t#{pane_dead}\t#{pane_current_path}";
    let listing = world.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]).stdout;
    let rows = listing.lines().filter_map(|line| line.strip_prefix("task-42\t"));
    let row = |row: &str| {
        let mut fields = row.split('\t').map(str::to_owned);
        (fields.next().unwrap(), fields.next().unwrap() == "1", fields.next().unwrap())
    };
    rows.map(row).collect()
}

fn shown(world: &World, pane: &str) -> String {
    world.sandbox.tmux(["capture-pane", "-p", "-J", "-S", "-", "-t", pane]).stdout
}

fn begin(world: &World, args: &[&str]) -> Child {
    let mut command = world.sandbox.command(PROGRAM);
    command.current_dir(&world.repo.root).arg("autopilot").args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The pane, once the executor is running in it.
fn at_work(world: &World) -> String {
    wait_until("the executor is at work", || fs::read_to_string(world.sandbox.home().join("pid")).ok());
    let panes = panes(world);
    assert_eq!(panes.len(), 1, "{panes:?}");
    panes[0].0.clone()
}

fn wait_for_output(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

#[test]
fn pane_without_a_session_is_refused_before_anything_starts() {
    let Some(world) = World::find() else { return };
    let ran = world.autopilot(&IN_PANE);
    insta::assert_snapshot!(ran, @r"
    exit 1
    --- stderr
    error: --pane needs a running session in this repository
    hint: run 'git paw start' first, or omit --pane
    ");
    assert_eq!((world.branch().as_str(), world.runs().len()), ("main", 0));
    let several = world.autopilot(&["42", "43", "--no-confirm", "--pane"]);
    assert_eq!(several.code, 1, "{several}");
}

#[test]
fn executor_pane_is_removed_when_the_run_is_done() {
    let Some(world) = with_session() else { return };
    world.executor(WAITING);
    let run = begin(&world, &[&IN_PANE[..], &["--executor-mode"]].concat());
    let pane = at_work(&world);
    wait_until("what it says is shown", || shown(&world, &pane).contains("here is 42.1 RED").then_some(()));
    assert_eq!(panes(&world)[0].2, "[SANDBOX]/app");
    // The client's current window stays the same.
    let current = world.sandbox.tmux(["display-message", "-p", "-t", "=paw-app:", "#{window_name}"]).stdout;
    assert_ne!(current.trim(), "task-42");
    fs::write(world.sandbox.home().join("go"), "").unwrap();
    let (code, text) = wait_for_output(run);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("→ The executor works in window task-42 of session 'paw-app'"), "{text}");
    assert!(text.contains("> here is 42.3 GREEN"), "{text}");
    assert_eq!(world.subjects().len(), 3);
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
    assert!(world.report("executor/subtask-42.2-green-attempt1.log").contains("here is 42.2 GREEN"));
    assert_eq!(panes(&world), []);
}

#[test]
fn executor_pane_has_the_environment_of_the_run() {
    let Some(world) = with_session() else { return };
    world.executor("echo \"$SECRET_OF_MINE\" > \"$HOME/seen\"\nexit 3\n");
    let mut command = world.sandbox.command(PROGRAM);
    command.current_dir(&world.repo.root).arg("autopilot").args(IN_PANE);
    command.env("SECRET_OF_MINE", "it's \"quoted\"\nand $HOME;long");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("The executor failed: exited with code 3"), "{text}");
    let seen = fs::read_to_string(world.sandbox.home().join("seen")).unwrap();
    assert_eq!(seen, "it's \"quoted\"\nand $HOME;long\n");
    // After a failure the window stays open.
    let panes = panes(&world);
    assert_eq!(panes.len(), 1, "{panes:?}");
    let pane = panes[0].0.clone();
    wait_until("the pane shows the reason", || {
        shown(&world, &pane).contains("The executor failed").then_some(())
    });
    wait_until("nothing runs in it", || self::panes(&world)[0].1.then_some(()));
    world.executor("case $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert!(resumed.stdout.contains("→ The executor works in window task-42"), "{resumed}");
    assert_eq!(self::panes(&world), []);
}

#[test]
fn closed_pane_pauses_the_run_and_kills_the_executor() {
    let Some(world) = with_session() else { return };
    world.executor(&format!("trap '' HUP\n{WAITING}"));
    let run = begin(&world, &IN_PANE);
    let pane = at_work(&world);
    world.sandbox.tmux(["kill-pane", "-t", &pane]);
    let (code, text) = wait_for_output(run);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Paused: The executor lost its pane, which was closed"), "{text}");
    let pid = fs::read_to_string(world.sandbox.home().join("pid")).unwrap();
    wait_until("the executor is gone", || is_gone(&pid).then_some(()));
    assert_eq!(world.log().last().map(String::as_str), Some("pause closed"));
    fs::write(world.sandbox.home().join("go"), "").unwrap();
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn ctrl_c_in_the_pane_pauses_the_run() {
    let Some(world) = with_session() else { return };
    world.executor(WAITING);
    let run = begin(&world, &IN_PANE);
    let pane = at_work(&world);
    world.sandbox.tmux(["send-keys", "-t", &pane, "C-c"]);
    let (code, text) = wait_for_output(run);
    assert!(code == Some(1) && text.contains("Paused: The executor was stopped in its pane"), "{text}");
}

#[test]
fn executor_in_a_pane_can_read_input() {
    let Some(world) = with_session() else { return };
    world.executor("if [ ! -e \"$HOME/answer\" ]; then echo 'which name?'; read answer < /dev/tty; echo \"$answer\" > \"$HOME/answer\"; fi\ncase $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    let run = begin(&world, &IN_PANE);
    let pane = wait_until("it asks", || {
        let pane = panes(&world).first()?.0.clone();
        shown(&world, &pane).contains("which name?").then_some(pane)
    });
    world.sandbox.tmux(["send-keys", "-t", &pane, "-l", "part"]);
    world.sandbox.tmux(["send-keys", "-t", &pane, "Enter"]);
    let (code, text) = wait_for_output(run);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(fs::read_to_string(world.sandbox.home().join("answer")).unwrap(), "part\n");
}

#[test]
fn executor_in_a_pane_is_killed_at_its_time_limit() {
    let Some(world) = with_session() else { return };
    world.executor("setsid sleep 1000 & echo $! > \"$HOME/left\"\nexec sleep 1000\n");
    let ran = world.autopilot(&[&IN_PANE[..], &["--budget", "1s"]].concat());
    assert!(ran.code == 1 && ran.stdout.contains("The budget is used up"), "{ran}");
    let pid = fs::read_to_string(world.sandbox.home().join("left")).unwrap();
    assert!(is_gone(&pid), "process {pid} is still there");
}

#[test]
fn killed_run_stops_its_pane_executor_and_resumes() {
    let Some(world) = with_session() else { return };
    world.executor(WAITING);
    let mut run = begin(&world, &IN_PANE);
    let pane = at_work(&world);
    let pid = fs::read_to_string(world.sandbox.home().join("pid")).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the executor ends with its run", || is_gone(&pid).then_some(()));
    wait_until("the pane says so", || shown(&world, &pane).contains("the run has ended").then_some(()));
    fs::write(world.sandbox.home().join("go"), "").unwrap();
    let resumed = world.autopilot(&["--resume", "--no-confirm", "--pane"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
    assert_eq!(panes(&world), []);
}

#[test]
fn leftover_window_is_removed_when_the_task_is_finished_manually() {
    let Some(world) = with_session() else { return };
    world.executor("case $PAW_PHASE-$n in RED-*) red ;; GREEN-3) exit 3 ;; GREEN-*) green ;; esac\n");
    assert_eq!(world.autopilot(&IN_PANE).code, 1);
    assert_eq!(panes(&world).len(), 1);
    let by_hand = "def value():\n    return 3\n\n\ndef name():\n    return \"part\"\n";
    world.repo.write("metrics/part3.py", by_hand);
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(panes(&world), []);
}

#[test]
fn commit_by_a_pane_executor_pauses_the_run() {
    let Some(world) = with_session() else { return };
    world.executor("red; git add -A; git commit --quiet -m mine\n");
    let ran = world.autopilot(&IN_PANE);
    assert!(ran.code == 1 && ran.stdout.contains("another process committed"), "{ran}");
}

#[test]
fn pane_run_resumes_without_a_pane_when_the_session_is_gone() {
    let Some(world) = with_session() else { return };
    world.executor("exit 3\n");
    assert_eq!(world.autopilot(&IN_PANE).code, 1);
    assert_eq!(paw(&world.sandbox, &world.repo.root, &["stop", "--force"]).code, 0);
    world.executor("case $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert!(resumed.stderr.contains("the session is no longer running"), "{resumed}");
}

#[test]
fn parallel_tasks_have_their_own_windows() {
    let Some(world) = with_session() else { return };
    let mut tasks: Value = serde_json::from_str(super::world::TASKS).unwrap();
    let list = tasks["analytics"]["tasks"].as_array_mut().unwrap();
    let mut other = list[0].clone();
    other["id"] = 43.into();
    list.push(other);
    world.repo.commit_file(".taskmaster/tasks/tasks.json", &tasks.to_string(), "tasks");
    world.executor(
        "touch \"$HOME/began-$PAW_TASK\"\nuntil [ -e \"$HOME/began-42\" ] && [ -e \"$HOME/began-43\" ] && [ -e \"$HOME/go\" ]; do sleep 0.05; done\ncase $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n",
    );
    let args =
        ["42", "43", "--parallel", "2", "--executor", "scripted", "--no-confirm", "--no-push", "--pane"];
    let run = begin(&world, &args);
    let windows = || {
        let listing = world.sandbox.tmux(["list-windows", "-t", "=paw-app:", "-F", "#{window_name}"]).stdout;
        ["task-42", "task-43"].iter().all(|name| listing.lines().any(|line| line == *name))
    };
    wait_until("both have a window", || windows().then_some(()));
    fs::write(world.sandbox.home().join("go"), "").unwrap();
    let (code, text) = wait_for_output(run);
    assert_eq!(code, Some(0), "{text}");
    let log = git(&world.repo.root, ["log", "--all", "--format=%s"]);
    assert_eq!(log.matches("(task 43.").count(), 3, "{log}");
    assert_eq!(panes(&world), []);
}
