//! Questions at a terminal: before the branch, before each commit with --preview, before push and pull request.

use paw_testkit::{Terminal, wait_until};

use super::world::World;
use crate::paw::PROGRAM;

fn typed(world: &World, args: &[&str]) -> Terminal {
    let mut all = vec!["autopilot", "42", "--executor", "scripted"];
    all.extend(args);
    Terminal::run(&world.sandbox, &world.repo.root, PROGRAM, &all)
}

#[test]
fn run_asks_before_branch_push_and_pull_request() {
    let Some(world) = World::find() else { return };
    world.remote();
    world.gh("echo https://github.com/org/repo/pull/123");
    let mut terminal = typed(&world, &[]);
    terminal.wait_for("Create branch analytics/task-42-user-metrics-tracking and run 3 subtasks of task 42?");
    terminal.send("y\r");
    terminal.wait_for("Push analytics/task-42-user-metrics-tracking?");
    terminal.send("y\r");
    terminal.wait_for("PUSH: confirms with user → pushed to origin");
    terminal.wait_for("Open a pull request for analytics/task-42-user-metrics-tracking to main?");
    terminal.send("y\r");
    terminal.wait_for("Task 42 complete. PR: https://github.com/org/repo/pull/123");
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn declining_the_branch_changes_nothing_and_declining_the_push_keeps_commits() {
    let Some(world) = World::find() else { return };
    let origin = world.remote();
    let mut terminal = typed(&world, &[]);
    terminal.wait_for("Create branch");
    terminal.send("n\r");
    assert_eq!(terminal.finish(), 2);
    assert_eq!((world.branch().as_str(), world.runs().len()), ("main", 0));

    let mut terminal = typed(&world, &[]);
    terminal.wait_for("Create branch");
    terminal.send("y\r");
    terminal.wait_for("Push analytics");
    terminal.send("n\r");
    terminal.wait_for("git push --set-upstream origin analytics/task-42-user-metrics-tracking");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(paw_testkit::git(&origin, ["branch", "--list"]), "* main");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn preview_shows_new_files_and_declining_pauses_the_run() {
    let Some(world) = World::find() else { return };
    let mut terminal = typed(&world, &["--preview", "--no-push", "--no-confirm"]);
    terminal.wait_for("Commit \"feat(metrics): add metrics schema (task 42.1)\"?");
    assert!(terminal.shown().contains("+++ b/metrics/part1.py"), "{}", terminal.shown());
    terminal.send("n\r");
    terminal.wait_for("Paused: Pause requested");
    assert_eq!(terminal.finish(), 1);
    assert!(world.subjects().is_empty());
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn changes_during_the_preview_are_tested_before_the_commit() {
    let Some(world) = World::find() else { return };
    let mut terminal = typed(&world, &["--preview", "--no-push", "--no-confirm"]);
    terminal.wait_for("Commit \"feat(metrics): add metrics schema (task 42.1)\"?");
    world.repo.write("metrics/part1.py", "def value():\n    return 9\n");
    terminal.send("y\r");
    // The executor has to fix it first.
    wait_until("it is proven and asked about once more", || {
        let shown = terminal.shown();
        let mut times = shown.match_indices("GREEN: implements").skip(1);
        times.next().filter(|(at, _)| shown[*at..].contains("Commit \"feat")).map(|_| ())
    });
    assert!(world.subjects().is_empty(), "{}", terminal.shown());
    terminal.send("n\r");
    terminal.wait_for("Paused: Pause requested");
    assert_eq!(terminal.finish(), 1);
}
