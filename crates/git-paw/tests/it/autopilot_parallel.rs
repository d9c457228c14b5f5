//! `git paw autopilot 1 2 3 --parallel N`: several tasks in parallel, with real worktrees, real git and a scripted
//! executor.

#![allow(clippy::disallowed_macros, clippy::print_stderr, reason = "a test that is skipped says so")]

mod conflicts;
mod update_base;
mod world;

use std::fs;
use std::process::Command;

use paw_testkit::{git, wait_until};
use serde_json::Value;

use crate::paw::{PROGRAM, document};
use world::{World, task};

fn states(document: &Value) -> Vec<String> {
    let tasks = document["tasks"].as_array().unwrap();
    tasks
        .iter()
        .map(|task| format!("{} {}", task["task"].as_str().unwrap(), task["state"].as_str().unwrap()))
        .collect()
}

#[test]
fn independent_tasks_run_in_parallel_in_their_own_worktrees() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[]), task(3, &[])]) else { return };
    // Each of the first two tasks waits until the other one is running.
    world.executor("touch \"$HOME/began-$n\"\nif [ $n != 3 ]; then until [ -e \"$HOME/began-1\" ] && [ -e \"$HOME/began-2\" ]; do sleep 0.02; done; fi\nwork\n");
    let ran = world.run(&["1", "2", "3", "--parallel", "2"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("[1] → Subtask 1.1: \"Add part 1\"") && ran.stderr.contains("[2] "), "{ran}");
    for number in 1..=3 {
        assert_eq!(
            world.subjects(number),
            [format!("feat(part{number}): add part {number} (task {number}.1)")]
        );
        assert_eq!(git(&world.worktree(number), ["status", "--porcelain"]), "");
        let kept = fs::read_to_string(world.worktree(number).join(".taskmaster/state/output.log")).unwrap();
        assert!(kept.contains("COMMIT: "), "{kept}");
    }
    assert!(ran.stdout.starts_with("TASK  STATE  BRANCH"), "{ran}");
    assert!(ran.stdout.contains("1     done   master/task-1-part-1  1        "), "{ran}");
    assert!(ran.stdout.contains("/.taskmaster/reports/runs/"), "{ran}");
    assert_eq!(world.repo.git(["branch", "--show-current"]), "main");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn tasks_run_sequentially_without_parallel() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[])]) else { return };
    world.executor("mkdir \"$HOME/at-work\" || exit 9\nwork\nrm -r \"$HOME/at-work\"\n");
    let ran = world.run(&["2", "1"]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn task_starts_from_the_merged_branches_of_its_dependencies() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[]), task(3, &[1, 2]), task(4, &[3])]) else {
        return;
    };
    world.executor("if [ $n = 3 ]; then test -e app/part1.py -a -e app/part2.py || exit 9; fi\nwork\n");
    let ran = world.run(&["4", "3", "2", "1", "--parallel", "4", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let document = document(&ran);
    assert_eq!(states(&document), ["2 done", "1 done", "3 done", "4 done"]);
    assert_eq!(document["tasks"][2]["commits"], 1);
    assert_eq!(world.subjects(4).len(), 4);
    let tasks = world.repo.git(["show", &format!("{}:.taskmaster/tasks/tasks.json", World::branch(4))]);
    assert_eq!(tasks.matches("\"done\"").count(), 8, "{tasks}");
    assert_eq!(world.repo.git(["log", "--format=%s", "-1", "main"]), "state");
}

#[test]
fn task_builds_on_a_dependency_in_review() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[1])]) else { return };
    let origin = world.remote();
    world.sandbox.install_program("gh", "#!/bin/sh\necho https://example.test/pull/7\n");
    let ran = world.autopilot(&["1", "2", "--no-confirm"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("task 1: https://example.test/pull/7"), "{ran}");
    let there = git(&origin, ["branch", "--list", "master/*", "--format=%(refname:short)"]);
    assert_eq!(there, "master/task-1-part-1\nmaster/task-2-part-2");
}

#[test]
fn failed_task_blocks_only_its_dependents_and_resumes_with_the_same_command() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[1]), task(3, &[2]), task(4, &[])]) else {
        return;
    };
    world.executor("[ $n = 1 ] && [ ! -e \"$HOME/mended\" ] && exit 0\nwork\n");
    let ran = world.run(&["1", "2", "3", "4", "--parallel", "2", "--max-attempts", "1"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("[2] skipped: task 1, which it depends on, is not done"), "{ran}");
    assert!(ran.stdout.contains("task 3 skipped: task 2, which it depends on, is not done"), "{ran}");
    assert!(ran.stdout.contains("task 1 paused: Could not achieve red state after 1 attempt"), "{ran}");
    let resume = format!("to continue: cd {} && git paw autopilot --resume", world.worktree(1).display());
    assert!(ran.stdout.contains(&world.sandbox.redact(&resume)), "{ran}");
    assert!(!world.worktree(2).exists() && world.subjects(4).len() == 1);
    fs::write(world.at("mended"), "").unwrap();
    let again = world.run(&["1", "2", "3", "4", "--parallel", "2", "--json"]);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(states(&document(&again)), ["1 done", "2 done", "3 done", "4 done"]);
    assert_eq!(world.subjects(3).len(), 3);
    let third = world.run(&["1", "2", "3", "4", "--dry-run"]);
    assert_eq!(third.stdout.matches(" done ").count(), 4, "{third}");
}

#[test]
fn crashed_task_does_not_stop_the_others() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[])]) else { return };
    world.executor("[ $n = 1 ] && kill -9 $PPID && exit 0\nwork\n");
    let ran = world.run(&["1", "2", "--parallel", "2", "--json"]);
    assert_eq!(ran.code, 1, "{ran}");
    let document = document(&ran);
    assert_eq!(states(&document), ["1 failed", "2 done"]);
    assert!(document["tasks"][0]["reason"].as_str().unwrap().contains("signal 9"), "{document}");
    assert!(document["tasks"][0]["resume"].as_str().unwrap().ends_with("git paw autopilot --resume"));
}

#[test]
fn dependency_conflict_pauses_the_task_until_it_is_resolved() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[]), task(3, &[1, 2])]) else { return };
    world.executor("work\n[ $PAW_PHASE = GREEN ] && [ $n != 3 ] && echo \"by = $n\" > app/shared.py\n:\n");
    let ran = world.run(&["1", "2", "3", "--json"]);
    assert_eq!(ran.code, 1, "{ran}");
    let paused = document(&ran);
    assert_eq!(states(&paused), ["1 done", "2 done", "3 paused"]);
    let reason = paused["tasks"][2]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the merge of master/task-2-part-2 has a conflict in app/shared.py (cd "),
        "{reason}"
    );
    let dir = world.worktree(3);
    fs::write(dir.join("app/shared.py"), "by = 3\n").unwrap();
    let meanwhile = document(&world.run(&["1", "2", "3", "--json"]));
    let reason = meanwhile["tasks"][2]["reason"].as_str().unwrap();
    assert!(reason.starts_with("a merge has a conflict in app/shared.py"), "{reason}");
    assert_eq!(fs::read_to_string(dir.join("app/shared.py")).unwrap(), "by = 3\n");
    git(&dir, ["add", "app/shared.py"]);
    git(&dir, ["commit", "--quiet", "--no-edit"]);
    let again = world.run(&["1", "2", "3", "--json"]);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(world.subjects(3).len(), 3);
}

#[test]
fn fleet_refuses_invalid_requests_before_creating_anything() {
    let Some(world) = World::find(&[task(1, &[2]), task(2, &[1]), task(3, &[4]), task(4, &[]), task(5, &[])])
    else {
        return;
    };
    for (args, words) in [
        (&["1", "2"][..], "depend on each other, so none of them can start: 1 → 2 → 1"),
        (&["3", "5"], "task 3 depends on task 4, which is not done (pending) and not in the request"),
        (&["4", "4"], "task 4 is named twice"),
        (&["4", "99"], "there is no task 99"),
        (&["4", "5.1"], "is a subtask"),
        (&["4", "x y"], "is not a task id"),
        (&["4", "5", "--preview"], "--preview cannot be used with several tasks"),
        (&["4", "5", "--tag", "nope"], "there is no tag 'nope'"),
    ] {
        let ran = world.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 1, "{ran}");
        assert!(document(&ran)["error"]["message"].as_str().unwrap().contains(words), "{ran}");
    }
    let unconfirmed = world.autopilot(&["4", "5"]);
    assert!(
        unconfirmed.code == 1 && unconfirmed.stderr.contains("stdin is not a terminal; nothing was done"),
        "{unconfirmed}"
    );
    for number in ["0", "65", "-1", "x"] {
        assert_eq!(world.run(&["4", "5", "--parallel", number]).code, 2);
    }
    assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "main");
    world.repo.git(["rm", "--quiet", "-r", "--cached", ".taskmaster"]);
    world.repo.git(["commit", "--quiet", "--message", "no tasks"]);
    let ran = world.run(&["4", "5"]);
    assert!(ran.stderr.contains("tasks.json is not on main, so the worktrees would have no tasks"), "{ran}");
}

#[test]
fn fleet_dry_run_shows_worktrees_and_creates_nothing() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[1])]) else { return };
    let ran = world.autopilot(&["2", "1", "--dry-run", "--parallel", "3"]);
    insta::assert_snapshot!(ran, @"
    exit 0
    --- stdout
    Autopilot Plan for 2 tasks from main
    TASK  STATE  AFTER  BRANCH                WORKTREE
    1     new    -      master/task-1-part-1  [SANDBOX]/app-master-task-1-part-1
    2     new    1      master/task-2-part-2  [SANDBOX]/app-master-task-2-part-2
    At most 3 at once. Run without --dry-run to execute.
    ");
    assert_eq!(world.repo.git(["branch", "--format=%(refname:short)"]), "main");
    assert!(!world.worktree(1).exists());
}

#[test]
fn ctrl_c_stops_all_tasks_and_prints_how_to_resume() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[]), task(3, &[1])]) else { return };
    world.executor(
        "echo $$ > \"$HOME/pid-$n.new\"; mv \"$HOME/pid-$n.new\" \"$HOME/pid-$n\"\nexec sleep 1000\n",
    );
    let mut command = world.sandbox.command(PROGRAM);
    command.current_dir(&world.repo.root);
    command.args(["autopilot", "1", "2", "3", "--parallel", "2", "--no-confirm", "--no-push"]);
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let pids = ["pid-1", "pid-2"]
        .map(|name| wait_until("an executor is at work", || fs::read_to_string(world.at(name)).ok()));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    for number in 1..=2 {
        let resume = format!("cd {} && git paw autopilot --resume", world.worktree(number).display());
        assert!(printed.contains(&resume), "{printed}");
    }
    assert!(printed.contains("task 3 interrupted: not started"), "{printed}");
    for pid in pids {
        wait_until("the executor is gone", || is_gone(&pid).then_some(()));
    }
    world.executor("work\n");
    let again = world.run(&["1", "2", "3", "--parallel", "2"]);
    assert_eq!(again.code, 0, "{again}");
}

fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('Z'))
}
