//! The end of a run: coverage, formatter, push, pull request, and the manual commands.

use std::fs;

use super::world::World;
use crate::paw::paw;

const TO_THE_END: [&str; 4] = ["42", "--executor", "scripted", "--no-confirm"];

#[test]
fn run_without_a_remote_pauses_before_the_push() {
    let Some(world) = World::find() else { return };
    let ran = world.autopilot(&TO_THE_END);
    assert!(ran.code == 1 && ran.stdout.contains("Could not push: there is no remote"), "{ran}");
    assert!(
        ran.stdout
            .contains("- By hand: git push --set-upstream origin analytics/task-42-user-metrics-tracking"),
        "{ran}"
    );
    let finished = world.autopilot(&["--resume", "--no-confirm", "--no-push"]);
    assert_eq!(finished.code, 0, "{finished}");
    assert!(finished.stdout.contains("✓ Task 42 complete."), "{finished}");
}

#[test]
fn run_without_gh_prints_the_commands() {
    let Some(world) = World::find() else { return };
    let origin = world.remote();
    let ran = world.autopilot(&TO_THE_END);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("PR: not opened (gh is not installed); to open it:\n    gh pr create --base main --head analytics/task-42-user-metrics-tracking --title 'Task #42 [analytics]: User metrics tracking' --body-file .taskmaster/reports/runs/[RUN]/pr.md"), "{ran}");
    let there =
        paw_testkit::git(&origin, ["log", "--format=%s", "analytics/task-42-user-metrics-tracking", "-1"]);
    assert_eq!(there, "feat(metrics): add dashboard widget (task 42.3)");
}

#[test]
fn gh_failure_is_quoted_and_an_existing_pull_request_is_used() {
    let Some(world) = World::find() else { return };
    world.remote();
    world.gh("[ \"$2\" = create ] && { echo 'GraphQL: nope' >&2; exit 1; }; exit 1");
    let ran = world.autopilot(&TO_THE_END);
    assert!(ran.code == 0 && ran.stdout.contains("PR: not opened (GraphQL: nope)"), "{ran}");
    let Some(world) = World::find() else { return };
    world.remote();
    world.gh("[ \"$2\" = create ] && { echo 'already exists' >&2; exit 1; }; echo https://github.com/org/repo/pull/7");
    let ran = world.autopilot(&TO_THE_END);
    assert!(ran.stdout.contains("✓ Task 42 complete. PR: https://github.com/org/repo/pull/7"), "{ran}");
}

#[test]
fn low_coverage_pauses_the_run_unless_forced() {
    let Some(world) = World::find() else { return };
    world.configure("[autopilot]\ncoverage_command = \"printf 'TN:\\\\nSF:a.py\\\\nDA:1,1\\\\nDA:2,0\\\\nend_of_record\\\\n' > lcov.info\"\n");
    world.repo.commit_file(".gitignore", "lcov.info\n", "ignore");
    let ran = world.run();
    assert!(ran.code == 1 && ran.stdout.contains("✗ Coverage check → 50% (below 80% threshold)"), "{ran}");
    let passed = world.autopilot(&["--resume", "--no-confirm", "--force=coverage"]);
    assert_eq!(passed.code, 0, "{passed}");
    assert_eq!(world.manifest()["finalCoverage"]["lines"], 50.0);
    assert!(world.manifest()["relaxed"][0].as_str().unwrap().contains("coverage"));
}

#[test]
fn sufficient_coverage_is_shown() {
    let Some(world) = World::find() else { return };
    world.configure("[autopilot]\ncoverage_command = \"printf 'TN:\\\\nSF:a.py\\\\nDA:1,1\\\\nDA:2,1\\\\nend_of_record\\\\n' > lcov.info\"\n");
    world.repo.commit_file(".gitignore", "lcov.info\n", "ignore");
    let ran = world.run();
    assert!(ran.code == 0 && ran.stdout.contains("✓ Coverage check → 100% (meets 80% threshold)"), "{ran}");
}

#[test]
fn formatter_changes_get_their_own_commit_and_the_linter_must_pass() {
    let Some(world) = World::find() else { return };
    world.configure("[autopilot]\nformat_command = \"echo '# formatted' >> metrics/part1.py\"\nlint_command = \"test ! -e forbidden\"\n");
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.subjects()[3], "style: format (task 42)");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn formatter_commit_excludes_the_users_uncommitted_files() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file("notes.txt", "mine\n", "notes");
    world.repo.write("notes.txt", "mine, and not done\n");
    world.configure("[autopilot]\nformat_command = \"echo '# formatted' >> notes.txt\"\n");
    let args = ["42", "--executor", "scripted", "--no-confirm", "--no-push", "--force=dirty"];
    let ran = world.autopilot(&args);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.subjects().len(), 3);
    assert_eq!(world.repo.git(["status", "--porcelain"]).trim(), "M notes.txt");
}

#[test]
fn autopilot_json_is_one_document() {
    let Some(world) = World::find() else { return };
    let ran = world.autopilot(&[
        "42",
        "--executor",
        "scripted",
        "--no-confirm",
        "--no-push",
        "--json",
        "--executor-mode",
    ]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["manifest"]["status"], "completed");
    assert_eq!(document["status"]["progress"]["percentage"], 100);
    assert!(ran.stderr.contains("→ Subtask 42.2: \"Add collection endpoint\""), "{ran}");
}

#[test]
fn repository_settings_cannot_read_files_outside_of_the_worktree() {
    let Some(world) = World::find() else { return };
    world.sandbox.write("home/key", "SECRET");
    let config = r#"{"git": {"pr": {"bodyTemplate": "../home/key"}}, "prompts": {"loadOrder": ["../../../home/key"]}}"#;
    world.repo.commit_file(".taskmaster/config.json", config, "settings");
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!world.report("pr.md").contains("SECRET"));
    assert!(!world.report("executor/subtask-42.1-red-attempt1.prompt.md").contains("SECRET"));
}

#[test]
fn pull_request_contains_the_signed_result_of_the_projects_gates() {
    let Some(world) = World::find() else { return };
    world.configure("[supervisor]\ntest_command = \"test -e metrics/part3.py\"\n");
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    let body = world.report("pr.md");
    assert!(body.contains("passed `test -e metrics/part3.py` on a clean checkout, signed at"), "{body}");
    let (_, record) = body.split_once("```json\n").unwrap();
    let (record, _) = record.split_once("\n```").unwrap();
    let check = |record: &str| {
        let file = world.sandbox.root().join("record.json");
        fs::write(&file, record).unwrap();
        paw(&world.sandbox, &world.repo.root, &["proof", "check", file.to_str().unwrap()])
    };
    let checked = check(record);
    assert_eq!(checked.code, 0, "{checked}");
    let forged = check(&record.replace("part3", "part2"));
    assert_eq!(forged.code, 1, "{forged}");
}

#[test]
fn run_whose_branch_fails_the_projects_gates_is_not_finished() {
    let Some(world) = World::find() else { return };
    world.configure("[supervisor]\ntest_command = \"test ! -e metrics/part3.py\"\n");
    let ran = world.run();
    assert!(ran.code == 1 && ran.stdout.contains("the gates did not pass: "), "{ran}");
    assert!(!world.report("pr.md").contains("signed at"), "nothing is claimed");
}
