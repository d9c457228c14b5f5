//! Misbehaving executors and suites: the run pauses and nothing is lost.

use super::world::{World, is_gone};

/// Runs it and returns the pause message.
fn paused(world: &World, script: &str) -> String {
    world.executor(script);
    let ran = world.run();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stdout.contains("⚠️ Paused: ")
            && ran.stdout.contains("- Resume after manual fix: git paw autopilot --resume"),
        "{ran}"
    );
    assert_eq!(world.manifest()["status"], "paused");
    ran.stdout
}

#[test]
fn executor_commit_pauses_the_run_and_is_kept() {
    let Some(world) = World::find() else { return };
    let output = paused(&world, "red; git add --all; git commit --quiet --message 'mine now'\n");
    assert!(output.contains("another process committed"), "{output}");
    assert_eq!(world.subjects(), ["mine now"]);
    assert_eq!(world.manifest()["totalCommits"], 0);
    let refused = world.autopilot(&["--resume", "--no-confirm"]);
    assert!(refused.code == 1 && refused.stderr.contains("the branch has moved"), "{refused}");
    world.repo.git(["reset", "--quiet", "--soft", "HEAD~1"]);
    world.executor("case $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn commit_with_a_copied_trailer_is_not_accepted() {
    let Some(world) = World::find() else { return };
    let output = paused(
        &world,
        "case $PAW_PHASE in RED) red ;; GREEN) echo 'raise ValueError' > metrics/part1.py; git add --all; git commit --quiet --message x --message 'Subtask: 42.1' ;; esac\n",
    );
    assert!(output.contains("another process committed"), "{output}");
    let refused = world.autopilot(&["--resume", "--no-confirm"]);
    assert!(refused.code == 1 && refused.stderr.contains("the branch has moved"), "{refused}");
    assert_eq!(world.manifest()["totalCommits"], 0);
}

#[test]
fn executor_branch_switch_pauses_the_run() {
    let Some(world) = World::find() else { return };
    let output = paused(&world, "red; git switch --quiet --create elsewhere\n");
    assert!(
        output.contains("'elsewhere' is checked out instead of 'analytics/task-42-user-metrics-tracking'"),
        "{output}"
    );
    assert!(world.repo.root.join("tests/test_part1.py").exists());
}

#[test]
fn executor_push_pauses_the_run() {
    let Some(world) = World::find() else { return };
    world.remote();
    let output = paused(
        &world,
        "case $PAW_PHASE-$n in *-2) unset GIT_CONFIG_COUNT; git push --quiet origin HEAD ;; RED-*) red ;; GREEN-*) green ;; esac\n",
    );
    assert!(output.contains("another process pushed the branch to origin/"), "{output}");
}

#[test]
fn executor_that_changes_tests_gets_no_commit() {
    let Some(world) = World::find() else { return };
    let output = paused(
        &world,
        "case $PAW_PHASE in RED) red ;; GREEN) green; sed -i 's/assertEqual(part1.value(), 1)/assertTrue(True)/' tests/test_part1.py ;; esac\n",
    );
    assert!(output.contains("tests in tests/test_part1.py were weakened"), "{output}");
    assert!(world.subjects().is_empty());
}

#[test]
fn executor_that_edits_tasks_json_gets_no_commit() {
    let Some(world) = World::find() else { return };
    let output = paused(&world, "red; sed -i 's/pending/done/' .taskmaster/tasks/tasks.json\n");
    assert!(output.contains("tasks.json was changed"), "{output}");
    // The same with an ignored tasks.json.
    let Some(world) = World::find() else { return };
    world.repo.git(["rm", "--quiet", "--cached", ".taskmaster/tasks/tasks.json"]);
    world.repo.commit_file(".gitignore", ".taskmaster/\n", "ignore");
    let output = paused(&world, "red; sed -i 's/pending/done/' .taskmaster/tasks/tasks.json\n");
    assert!(output.contains("tasks.json was changed"), "{output}");
}

#[test]
fn executor_cannot_change_the_test_runner() {
    let Some(world) = World::find() else { return };
    let output = paused(&world, "red; echo '{\"test\": {\"runner\": \"true\"}}' > .taskmaster/config.json\n");
    assert!(
        output.contains("settings that decide which tests run were changed: .taskmaster/config.json"),
        "{output}"
    );
}

#[test]
fn executor_leftover_processes_are_killed() {
    let Some(world) = World::find() else { return };
    world.executor(
        "case $PAW_PHASE in RED) red; setsid sleep 1000 > /dev/null 2>&1 & echo $! >> \"$HOME/left\" ;; GREEN) green ;; esac\n",
    );
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("left running by the executor"), "{ran}");
    let left = std::fs::read_to_string(world.sandbox.home().join("left")).unwrap();
    for pid in left.lines() {
        assert!(is_gone(pid), "process {pid} is still there");
    }
}

#[test]
fn failing_executor_pauses_the_run_with_its_last_output() {
    let Some(world) = World::find() else { return };
    let output = paused(&world, "echo 'no credit left' >&2; exit 3\n");
    assert!(output.contains("The executor failed: exited with code 3: no credit left"), "{output}");
}

#[test]
fn hanging_suite_pauses_the_run_in_preflight() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/config.json", r#"{"autopilot": {"testTimeout": 1500}}"#, "limit");
    let hanging = "import time\nimport unittest\n\nclass Slow(unittest.TestCase):\n    def test_slow(self):\n        time.sleep(1000)\n";
    world.repo.commit_file("tests/test_slow.py", hanging, "slow");
    let output = paused(&world, "red\n");
    assert!(output.contains("the tests take longer than 1s without any change"), "{output}");
    assert_eq!(world.branch(), "main");
    world.repo.git(["rm", "--quiet", "tests/test_slow.py"]);
    world.repo.git(["commit", "--quiet", "--message", "faster"]);
    world.repo.write(".taskmaster/config.json", "{}");
    world.repo.git(["commit", "--quiet", "--all", "--message", "limit"]);
    world.executor("case $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
}

#[test]
fn new_tests_that_pass_twice_mean_already_implemented() {
    let Some(world) = World::find() else { return };
    world.executor(
        "case $PAW_PHASE-$n in RED-2) green; git add metrics/part2.py; git stash --quiet -- metrics/part2.py 2>/dev/null; rm -f metrics/part2.py; printf 'import unittest\\n\\nclass Here(unittest.TestCase):\\n    def test_here(self):\\n        self.assertTrue(True)\\n' > tests/test_here.py ;; RED-*) red ;; GREEN-*) green ;; esac\n",
    );
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("already implemented, nothing to commit"), "{ran}");
    assert_eq!(world.subjects().len(), 2);
    assert_eq!(world.status_of("HEAD", 2), "done");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn failing_commit_hook_pauses_the_run_and_loses_nothing() {
    let Some(world) = World::find() else { return };
    let hook = world.repo.root.join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho 'not like this' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = paused(&world, "case $PAW_PHASE in RED) red ;; GREEN) green ;; esac\n");
    assert!(output.contains("Could not commit: not like this"), "{output}");
    assert!(world.subjects().is_empty() && world.repo.root.join("metrics/part1.py").exists());
    std::fs::remove_file(hook).unwrap();
    let resumed = world.autopilot(&["--resume", "--no-confirm"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(world.subjects().len(), 3);
}

#[test]
fn spent_budget_pauses_the_run() {
    let Some(world) = World::find() else { return };
    world.executor("red; sleep 2\n");
    let ran =
        world.autopilot(&["42", "--executor", "scripted", "--no-confirm", "--no-push", "--budget", "1s"]);
    assert!(ran.code == 1 && ran.stdout.contains("The budget is used up"), "{ran}");
}

#[test]
fn unreadable_tasks_json_has_a_hint_in_text_and_json() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/tasks/tasks.json", "{\"analytics\": <<<<<<< HEAD", "broken");
    let hint = "fix it in an editor; git log -p shows what was committed of it";
    let plain = world.run();
    assert!(plain.code == 1 && plain.stderr.contains(&format!("\nhint: {hint}")), "{plain}");
    let document = crate::paw::document(&world.autopilot(&["42", "--dry-run", "--json"]));
    assert_eq!(document["error"]["hints"], serde_json::json!([hint]), "{document}");
}

#[test]
fn branch_name_drops_terminal_codes_of_the_title() {
    let Some(world) = World::find() else { return };
    let tasks = super::world::TASKS
        .replace("User metrics tracking", r"User \u001b[31mmetrics\u001b[0m\u001b]0;evil\u0007");
    world.repo.commit_file(".taskmaster/tasks/tasks.json", &tasks, "title");
    let ran = world.autopilot(&["42", "--dry-run", "--json"]);
    assert_eq!(crate::paw::document(&ran)["plan"]["branch"], "analytics/task-42-user-metrics", "{ran}");
}
