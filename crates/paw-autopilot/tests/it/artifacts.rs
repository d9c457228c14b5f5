//! The files of a run, and how git parses its commit messages.

use std::fs;

use paw_autopilot::artifacts::run_dir::{RunCheckpoint, find_latest};
use paw_autopilot::artifacts::{RunDir, RunId};
use paw_autopilot::engine::{Budget, Run, RunEvent, RunRequest};
use paw_autopilot::message::{CommitMessage, SUBTASK_TRAILER, finished_subtask};
use paw_autopilot::runners::{TestCase, TestOutcome, TestReport};
use paw_autopilot::tasks::{TagName, TaskId, TaskProject};
use paw_autopilot::work::{RunNotes, RunOptions};
use paw_core::BranchName;
use paw_testkit::Sandbox;
use serde_json::json;

pub(crate) fn order() -> RunRequest {
    RunRequest {
        task: TaskId::new("42").unwrap(),
        tag: TagName::new("analytics").unwrap(),
        title: "User metrics tracking".into(),
        default_branch: Some(BranchName::new("main").unwrap()),
        max_attempts: 3,
        budget: Budget::default(),
        push: false,
        pull_request: false,
    }
}

fn notes() -> RunNotes {
    serde_json::from_value(
        json!({"began": "2025-01-15T14:20:33Z", "wishes": RunOptions::default(), "mark": "m", "base": "c0"}),
    )
    .unwrap()
}

#[test]
fn run_writes_its_files_to_the_documented_paths() {
    let sandbox = Sandbox::new();
    let project = TaskProject::at(sandbox.root().join("app"));
    let began = "2025-01-15T14:20:33Z".parse().unwrap();
    let dir = RunDir::create(&project, began).unwrap();
    assert_eq!(RunDir::create(&project, began).unwrap().id.as_str(), "2025-01-15-142033-2");
    dir.log(
        began,
        "preflight",
        json!({"status": "ok", "details": {"testCmd": "npm test", "gitClean": true}}),
    )
    .unwrap();
    dir.log(began, "branch", json!({"status": "ok", "branch": "analytics/task-42-user-metrics"})).unwrap();
    dir.add_commit("a1b2c3d").unwrap();
    dir.add_commit("b2c3d4e").unwrap();
    dir.write_pull_request("body\n").unwrap();
    let path = sandbox.root().join("app/.taskmaster/reports/runs/2025-01-15-142033");
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(
        read("log.jsonl").lines().next().unwrap(),
        r#"{"ts":"2025-01-15T14:20:33Z","phase":"preflight","status":"ok","details":{"testCmd":"npm test","gitClean":true}}"#
    );
    assert_eq!((read("commits.txt").as_str(), read("pr.md").as_str()), ("a1b2c3d\nb2c3d4e\n", "body\n"));
    assert!(path.join("test-results").is_dir());
}

#[test]
fn checkpoint_is_loaded_and_a_broken_one_is_reported() {
    let sandbox = Sandbox::new();
    let project = TaskProject::at(sandbox.root().join("app"));
    assert_eq!(find_latest(&project), None);
    let dir = RunDir::create(&project, "2025-01-15T14:20:33Z".parse().unwrap()).unwrap();
    let mut run = Run::new(order(), vec![("42.1".parse().unwrap(), "Schema".into())]).unwrap();
    run.step(RunEvent::PreflightPassed).unwrap();
    let notes = notes();
    dir.write_checkpoint(&run, &notes).unwrap();
    let baseline =
        TestReport { cases: vec![TestCase::new("x", TestOutcome::Passed)], ..TestReport::default() };
    dir.write_baseline(&baseline).unwrap();
    let found = find_latest(&project).unwrap();
    assert_eq!(found.id, RunId::parse("2025-01-15-142033").unwrap());
    assert_eq!(
        (found.load_checkpoint().unwrap(), found.load_baseline().unwrap()),
        (Some(RunCheckpoint { run, notes }), Some(baseline))
    );
    let view = sandbox.root().join("app/.taskmaster/state/current-run.json");
    let view: serde_json::Value = serde_json::from_str(&fs::read_to_string(view).unwrap()).unwrap();
    assert_eq!(view["status"]["phase"], "BRANCH_SETUP");
    let file = sandbox.write("app/.taskmaster/state/runs/2025-01-15-142033.json", "{\"half\":");
    let error = found.load_checkpoint().unwrap_err();
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
}

#[test]
fn git_parses_the_trailers_of_our_commits() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let (task, tag, subtask) =
        (TaskId::new("42").unwrap(), TagName::new("analytics").unwrap(), "42.1".parse().unwrap());
    let message = CommitMessage {
        template: "{type}({scope}): {msg}",
        kind: "feat",
        scope: "metrics",
        task: &task,
        subtask: &subtask,
        title: "Add: metrics\n\nTask: 1\nschema # not a comment",
        tag: &tag,
        proven: 3,
        passed: 120,
        co_author: Some("A <a@b.invalid>"),
    };
    repo.write("a", "x");
    repo.git(["add", "a"]);
    repo.git(["commit", "--quiet", "--message", &message.text()]);
    let trailers = repo.git(["log", "-1", "--format=%(trailers:only)"]);
    assert_eq!(
        trailers.trim(),
        "Task: 42\nSubtask: 42.1\nTag: analytics\nTests: 3 proven, 120 passing\nCo-authored-by: A <a@b.invalid>"
    );
    let format = format!("--format=%(trailers:key={SUBTASK_TRAILER},valueonly)");
    assert_eq!(finished_subtask(repo.git(["log", "-1", &format]).trim()), Some(subtask));
}
