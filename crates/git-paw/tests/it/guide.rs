//! `git paw autopilot start`, `next`, `complete`, …: an agent does the work, git paw runs the tests.

use std::fs;
use std::io::Write as _;

use paw_testkit::{RunOutput, Sandbox, TestRepo};
use serde_json::{Value, json};

use crate::paw::{document, paw};

/// A Python project with a task of two subtasks.
pub(crate) struct Project {
    pub(crate) sandbox: Sandbox,
    pub(crate) repo: TestRepo,
}

impl Project {
    /// `None` if Python is not installed.
    pub(crate) fn find() -> Option<Self> {
        let sandbox = Sandbox::new();
        if !sandbox.install_python() {
            return None;
        }
        let repo = sandbox.repo("app");
        repo.write(".gitignore", "__pycache__/\n");
        repo.write("metrics.py", "def add(a, b):\n    return a + b\n");
        repo.write("test_old.py", &test("Old", "add", "1, 1", "2"));
        let tasks = json!({"master": {"tasks": [{"id": 42, "title": "User metrics", "description": "Count",
            "status": "pending", "dependencies": [], "subtasks": [
                {"id": 1, "title": "Subtract", "description": "Subtract numbers", "status": "pending",
                    "dependencies": [], "acceptanceCriteria": ["3 - 1 is 2"]},
                {"id": 2, "title": "Multiply", "description": "Multiply numbers", "status": "pending", "dependencies": [1]}
            ]}], "metadata": {}}});
        repo.write(".taskmaster/tasks/tasks.json", &serde_json::to_string_pretty(&tasks).unwrap());
        repo.git(["add", "--all"]);
        repo.git(["commit", "--quiet", "--message", "project"]);
        Some(Self { sandbox, repo })
    }

    pub(crate) fn verb(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, &[&["autopilot"], args].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        document(&self.verb(&[args, &["--json"]].concat()))
    }

    /// The tests of RED.
    pub(crate) fn write_test(&self, function: &str, result: &str) {
        self.repo.write(&format!("test_{function}.py"), &test("New", function, "3, 1", result));
    }

    /// The code of GREEN.
    pub(crate) fn write_code(&self, function: &str, returned: &str) {
        let file = self.repo.root.join("metrics.py");
        let before = fs::read_to_string(&file).unwrap();
        fs::write(file, format!("{before}\n\ndef {function}(a, b):\n    return {returned}\n")).unwrap();
    }

    pub(crate) fn status_of(&self, item: &str) -> Value {
        let shown = document(&paw(&self.sandbox, &self.repo.root, &["tasks", "show", item, "--json"]));
        shown["status"].clone()
    }
}

/// Prints that a test was skipped.
pub(crate) fn skip(why: &str) {
    let _ = std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes());
}

fn test(class: &str, function: &str, arguments: &str, result: &str) -> String {
    format!(
        "import unittest\nimport metrics\n\n\nclass {class}(unittest.TestCase):\n    def test_{function}(self):\n        \
         self.assertEqual(metrics.{function}({arguments}), {result})\n"
    )
}

#[test]
fn guide_steps_through_a_task_and_always_names_the_next_step() {
    let Some(project) = Project::find() else { return };
    let begun = project.json(&["start", "42"]);
    assert_eq!(begun["branchName"], "master/task-42-user-metrics", "{begun}");
    assert_eq!((&begun["phase"], &begun["tddPhase"]), (&json!("SUBTASK_LOOP"), &json!("RED")));
    let unit = &project.json(&["next"])["workUnit"];
    assert_eq!(unit["phase"], "RED");
    assert_eq!(unit["subtask"], "42.1");
    assert_eq!(unit["action"], "Generate failing tests for Subtract");
    assert_eq!(unit["context"]["acceptanceCriteria"], json!(["3 - 1 is 2"]));

    project.write_test("subtract", "2");
    let red = project.json(&["complete"]);
    assert_eq!((&red["accepted"], &red["tddPhase"]), (&json!(true), &json!("GREEN")), "{red}");
    assert_eq!(red["testResults"]["failed"], 1);
    project.write_code("subtract", "a - b");
    let green = project.json(&["complete"]);
    assert_eq!(
        (&green["accepted"], &green["nextAction"]),
        (&json!(true), &json!("commit_changes")),
        "{green}"
    );
    assert_eq!(project.json(&["status"])["tddPhase"], "COMMIT");
    let committed = project.json(&["commit"]);
    assert_eq!(committed["isComplete"], false, "{committed}");
    assert_eq!(committed["commitSha"], project.repo.git(["rev-parse", "HEAD"]));
    assert_eq!(committed["workUnit"]["subtask"], "42.2");
    assert_eq!(project.repo.git(["status", "--porcelain", "--", ".", ":!.taskmaster"]), "");

    project.write_test("multiply", "3");
    assert_eq!(project.json(&["complete"])["accepted"], true);
    project.write_code("multiply", "a * b");
    assert_eq!(project.json(&["complete"])["accepted"], true);
    assert_eq!(project.json(&["commit", "--message", "feat: multiply"])["isComplete"], true);
    let last = project.json(&["finalize"]);
    assert_eq!((&last["accepted"], &last["phase"]), (&json!(true), &json!("COMPLETE")), "{last}");
    assert_eq!(last["testResults"], json!({"total": 3, "passed": 3, "failed": 0, "skipped": 0}));
    assert!(project.repo.root.join(last["pullRequestBody"].as_str().unwrap()).exists());
    assert_eq!(project.json(&["status"])["active"], false);
    assert_eq!((project.status_of("42.1"), project.status_of("42.2")), (json!("done"), json!("done")));
    assert!(project.repo.git(["log", "-1", "--format=%B"]).contains("feat: multiply"));
    assert_eq!(project.repo.git(["rev-parse", "--abbrev-ref", "HEAD"]), "master/task-42-user-metrics");
}

#[test]
fn guide_text_output_is_short() {
    let Some(project) = Project::find() else { return };
    let started = project.verb(&["start", "42"]).to_string();
    // Whether coverage can be measured depends on the machine.
    let started: Vec<_> = started.lines().filter(|line| !line.contains("coverage")).collect();
    insta::assert_snapshot!(started.join("\n"), @r"
    exit 0
    --- stdout
    started task 42: User metrics on master/task-42-user-metrics

    RED 42.1: Generate failing tests for Subtract
      Subtract numbers
      Test command: python -m unittest
      Acceptance criteria:
      - 3 - 1 is 2

    Write failing tests for this subtask and nothing else. Then complete the phase: `python -m unittest` is run for you.
    then: git paw autopilot complete
    ");
    insta::assert_snapshot!(project.verb(&["complete"]), @r"
    exit 1
    --- stdout
    RED of 42.1 is not proven:
    - no test was written or changed

    RED 42.1: Generate failing tests for Subtract
      Subtract numbers
      Test command: python -m unittest
      Acceptance criteria:
      - 3 - 1 is 2

    Write failing tests for this subtask and nothing else. Then complete the phase: `python -m unittest` is run for you.
    then: git paw autopilot complete
    ");
    insta::assert_snapshot!(project.verb(&["status"]), @r"
    exit 0
    --- stdout
    task 42: User metrics (0 of 2 subtasks done), RED
    ");
    insta::assert_snapshot!(project.verb(&["abort"]), @r"
    exit 0
    --- stdout
    abandoned the run of task 42; branch, commits and files are kept
    ");
    insta::assert_snapshot!(project.verb(&["status"]), @r"
    exit 0
    --- stdout
    task 42: User metrics (0 of 2 subtasks done), aborted
    ");
}

#[test]
fn guide_refuses_unproven_work_with_a_reason() {
    let Some(project) = Project::find() else { return };
    project.json(&["start", "42", "--max-attempts", "9"]);
    let ran = project.verb(&["complete", "--json"]);
    assert_eq!((ran.code, document(&ran)["accepted"].clone()), (1, json!(false)), "{ran}");
    assert!(!document(&ran)["objections"].as_array().unwrap().is_empty());

    project.write_test("subtract", "2");
    assert_eq!(project.json(&["complete"])["accepted"], true);
    project.write_code("subtract", "a");
    let wrong = project.json(&["complete"]);
    assert_eq!((&wrong["accepted"], &wrong["tddPhase"]), (&json!(false), &json!("GREEN")), "{wrong}");
    let ran = project.verb(&["commit"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(project.repo.git(["rev-list", "--count", "main..HEAD"]), "0", "nothing was committed");
}

#[test]
fn guide_step_out_of_order_is_an_error_with_a_hint() {
    let Some(project) = Project::find() else { return };
    for verb in ["next", "complete", "commit", "resume", "finalize"] {
        let ran = project.verb(&[verb, "--json"]);
        assert_eq!(ran.code, 1, "{verb}: {ran}");
        let error = document(&ran)["error"].clone();
        assert!(error["message"].as_str().unwrap().contains("no autopilot run is in progress"), "{error}");
        assert_eq!(error["code"], "FAILED_PRECONDITION");
    }
    assert_eq!(project.json(&["abort"])["hadWorkflow"], false);
    for task in ["7", "42.1", "x y", "--", "../.."] {
        let ran = project.verb(&["start", "--json", "--", task]);
        assert_eq!(ran.code, 1, "{task}: {ran}");
        assert!(document(&ran)["error"]["message"].is_string());
    }
    project.json(&["start", "42"]);
    assert_eq!(project.verb(&["finalize"]).code, 1);
    assert_eq!(project.verb(&["commit"]).code, 1);
    let again = project.verb(&["start", "42"]);
    assert!(again.code == 1 && again.stderr.contains("is not finished"), "{again}");
    let anew = project.json(&["start", "42", "--force"]);
    assert_eq!(anew["tddPhase"], "RED", "{anew}");
}

#[test]
fn guide_resumes_a_paused_run_at_its_stage() {
    let Some(project) = Project::find() else { return };
    project.json(&["start", "42", "--max-attempts", "1"]);
    let paused = project.json(&["complete"]);
    assert!(paused["paused"].is_string(), "{paused}");
    assert!(project.json(&["status"])["paused"].is_string());
    let resumed = project.json(&["resume"]);
    assert!(resumed.get("paused").is_none() && resumed["tddPhase"] == "RED", "{resumed}");
    project.write_test("subtract", "2");
    assert_eq!(project.json(&["complete"])["accepted"], true);
}
