//! `--dry-run`, and the preconditions of a run.

use super::world::{TASKS, World};

const PLAIN: &str = "[autopilot.executors.scripted]\ncommand = [\"true\"]\n";

#[test]
fn dry_run_shows_the_plan_and_changes_nothing() {
    let Some(world) = World::find() else { return };
    world.remote();
    let before = world.repo.git(["status", "--porcelain", "--ignored"]);
    insta::assert_snapshot!(world.autopilot(&["42", "--dry-run", "--executor", "scripted"]), @r#"
    exit 0
    --- stdout
    Autopilot Plan for Task #42 [analytics]: User metrics tracking
    ─────────────────────────────────────────────────────────────
    Preflight:
      ✓ Working tree is clean
      ✓ Test command detected: python -m unittest
      ✗ No coverage gate: coverage.py is not installed for python3 (pip install coverage)
      ✓ Tools available: git, python3, [SANDBOX]/bin/scripted
      ✗ Tool missing: gh; the commands for a pull request will be printed
      ✓ Current branch: main (will create new branch)
    Branch & Tag:
      → Create branch: analytics/task-42-user-metrics-tracking
      → Set active tag: analytics
    Subtasks (3 pending):
      1. 42.1: Add metrics schema
         - RED: generate tests in tests/test_schema.py
         - GREEN: implement metrics/schema.py
         - COMMIT: "feat(metrics): add metrics schema (task 42.1)"
      2. 42.2: Add collection endpoint [depends on 42.1]
         - RED: generate tests in tests/test_endpoint.py
         - GREEN: implement metrics/endpoint.py
         - COMMIT: "feat(metrics): add collection endpoint (task 42.2)"
      3. 42.3: Add dashboard widget [depends on 42.2]
         - RED: generate tests in tests/test_widget.py
         - GREEN: implement metrics/widget.py
         - COMMIT: "feat(metrics): add dashboard widget (task 42.3)"
    Finalization:
      → Run full test suite: python -m unittest
      → No coverage gate: coverage.py is not installed for python3 (pip install coverage)
      → Push branch to origin (will confirm)
      → Create PR targeting main
    Run without --dry-run to execute.
    "#);
    assert_eq!(world.branch(), "main");
    assert_eq!(world.repo.git(["status", "--porcelain", "--ignored"]), before);
}

#[test]
fn dry_run_refuses_a_branch_pattern_that_names_the_default_branch() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/config.json", r#"{"git": {"branchPattern": "main"}}"#, "settings");
    let ran = world.autopilot(&["42", "--dry-run", "--executor", "scripted"]);
    assert!(
        ran.stdout.contains("✗ Branch main is the default branch, which autopilot never commits to"),
        "{ran}"
    );
    assert!(!ran.stdout.contains("will continue on it"), "{ran}");
    assert!(world.run().stderr.contains("Branch main is the default branch"));
    assert_eq!((world.branch().as_str(), world.runs().len()), ("main", 0));
}

#[test]
fn dry_run_lists_the_real_steps_of_the_end() {
    let Some(world) = World::find() else { return };
    let config = r#"{"test": {"coverageThresholds": {"lines": 60, "branches": 0, "functions": 0}}}"#;
    world.repo.commit_file(".taskmaster/config.json", config, "settings");
    world.configure("[autopilot]\nformat_command = \"black .\"\nlint_command = \"ruff .\"\ncoverage_command = \"cover\"\n");
    let ran = world.autopilot(&["42", "--dry-run", "--executor", "scripted", "--no-push"]);
    let steps = "Finalization:\n  → Format: black .\n  → Lint: ruff .\n  → Run full test suite: python -m unittest\n  \
        → Check coverage: 60 % of lines, 80 % of statements, measured by 'cover'\n";
    assert!(ran.stdout.contains(steps), "{ran}");
    assert!(
        ran.stdout.contains("✓ Coverage gate: 60 % of lines, 80 % of statements, measured by 'cover'\n"),
        "{ran}"
    );
}

#[test]
fn required_coverage_without_a_tool_blocks_the_run_before_it_begins() {
    let Some(world) = World::find() else { return };
    world.configure("[autopilot]\ncoverage_required = true\n");
    let args =
        ["42", "--executor", "scripted", "--no-confirm", "--no-push", "--runner", "python3 -m unittest"];
    let ran = world.autopilot(&args);
    assert!(ran.code == 1 && ran.stderr.contains("- No coverage gate: git paw cannot measure"), "{ran}");
    assert_eq!((world.branch().as_str(), world.runs().len()), ("main", 0));
}

#[test]
fn dry_run_marks_a_missing_tool_without_failing() {
    let Some(world) = World::find() else { return };
    let ran = world.autopilot(&["--dry-run", "--executor", "claude", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let checks = document["plan"]["checks"].as_array().unwrap();
    let missing = |tool: &str| {
        checks.iter().any(|check| check["ok"] == false && check["words"].as_str().unwrap().contains(tool))
    };
    assert!(missing("claude") && missing("gh"), "{ran}");
    assert_eq!(document["ready"], false);
}

#[test]
fn run_without_a_terminal_needs_a_confirmation_flag() {
    let Some(world) = World::find() else { return };
    let ran = world.autopilot(&["42", "--executor", "scripted"]);
    insta::assert_snapshot!(ran, @"
    exit 1
    --- stderr
    error: autopilot cannot ask for confirmation: stdin is not a terminal; nothing was done
    hint: use --no-confirm to create the branch, push it and open the pull request without asking; add --no-push to skip the push
    ");
    assert_eq!((world.branch().as_str(), world.runs().len()), ("main", 0));
}

#[test]
fn run_lists_blocking_problems_before_creating_anything() {
    let Some(world) = World::find() else { return };
    world.repo.write("metrics/half.py", "x = 1\n");
    let dirty = world.run();
    assert_eq!(dirty.code, 1);
    assert!(dirty.stderr.contains("Working tree is not clean: metrics/half.py"), "{dirty}");
    std::fs::remove_file(world.repo.root.join("metrics/half.py")).unwrap();
    world.repo.git(["checkout", "--quiet", "--detach"]);
    assert!(world.run().stderr.contains("HEAD is detached"));
    world.repo.git(["checkout", "--quiet", "main"]);
    world.repo.git(["branch", "analytics/task-42-user-metrics-tracking"]);
    assert!(world.run().stderr.contains("already exists"));
    for (task, words) in [("42.1", "is a subtask"), ("7", "there is no task 7"), ("x y", "is not a task id")]
    {
        let ran = world.autopilot(&[task, "--executor", "scripted", "--no-confirm"]);
        assert!(ran.code == 1 && ran.stderr.contains(words), "{ran}");
    }
    assert_eq!((world.branch().as_str(), world.runs().len()), ("main", 0));
}

#[test]
fn dirty_worktree_needs_force_and_stays_uncommitted() {
    let Some(world) = World::find() else { return };
    world.repo.write("metrics/half.py", "x = 1\n");
    let ran =
        world.autopilot(&["42", "--executor", "scripted", "--no-confirm", "--no-push", "--force=dirty"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "?? metrics/half.py");
    assert!(world.manifest()["relaxed"][0].as_str().unwrap().contains("metrics/half.py"));
}

#[test]
fn blocked_and_duplicate_tasks_are_refused() {
    let Some(world) = World::find() else { return };
    let stuck = TASKS.replace("\"dependencies\": [1]", "\"dependencies\": [3]");
    world.repo.commit_file(".taskmaster/tasks/tasks.json", &stuck, "circle");
    let ran = world.run();
    assert!(ran.code == 1 && ran.stderr.contains("Subtask 42.2 depends on"), "{ran}");
    let twice = TASKS.replace("\"id\": 3,", "\"id\": 2,");
    world.repo.commit_file(".taskmaster/tasks/tasks.json", &twice, "twice");
    assert!(world.run().stderr.contains("duplicate id"));
    assert_eq!(world.runs().len(), 0);
}

#[test]
fn repository_executor_needs_approval() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".git-paw/config.toml", &PLAIN.replace("scripted", "theirs"), "executor");
    let args = ["42", "--executor", "theirs", "--no-confirm", "--no-push"];
    let ran = world.autopilot(&args);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("not approved:") && ran.stderr.contains("theirs"), "{ran}");
    let trusted = world.autopilot(&[&args[..], &["--trust", "--max-attempts", "1"]].concat());
    assert!(trusted.stdout.contains("Could not achieve red state after 1 attempt"), "{trusted}");
}

#[test]
fn repository_test_command_needs_approval() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/config.json", r#"{"test": {"runner": "touch ran; true"}}"#, "runner");
    let ran = world.run();
    assert!(
        ran.code == 1 && ran.stderr.contains("test command is not approved: test.runner: touch ran; true"),
        "{ran}"
    );
    assert!(!world.repo.root.join("ran").exists() && world.runs().is_empty());
}
