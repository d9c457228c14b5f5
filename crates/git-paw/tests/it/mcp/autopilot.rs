//! A whole test-first task over MCP.

use std::path::PathBuf;

use paw_testkit::wait_until;
use serde_json::json;

use super::client::Client;
use super::raw::Raw;
use crate::guide::Project;

fn begin(project: &Project) -> Client {
    Client::start(&project.sandbox, &project.repo.root, &[])
}

#[test]
fn mcp_autopilot_runs_a_task_from_start_to_finalize() {
    let Some(project) = Project::find() else { return };
    let client = begin(&project);
    let root = project.repo.root.display().to_string();
    assert_eq!(client.call("autopilot_status", json!({"projectRoot": root})).unwrap()["active"], false);
    let begun = client
        .call("autopilot_start", json!({"projectRoot": root, "taskId": "42", "maxAttempts": 5}))
        .unwrap();
    for key in [
        "message",
        "taskId",
        "branchName",
        "phase",
        "tddPhase",
        "progress",
        "currentSubtask",
        "nextAction",
        "nextSteps",
        "workUnit",
    ] {
        assert!(!begun[key].is_null(), "{key} is missing: {begun}");
    }
    for (function, subtask, result, code) in
        [("subtract", "42.1", "2", "a - b"), ("multiply", "42.2", "3", "a * b")]
    {
        let unit = client.call("autopilot_next", json!({})).unwrap();
        assert_eq!(
            (&unit["action"], &unit["workUnit"]["subtask"]),
            (&json!("generate_test"), &json!(subtask))
        );
        project.write_test(function, result);
        let reported = json!({"testResults": {"total": 99, "passed": 99, "failed": 0}});
        let red = client.call("autopilot_complete_phase", reported).unwrap();
        assert_eq!((&red["accepted"], &red["nextAction"]), (&json!(true), &json!("implement_code")), "{red}");
        assert_eq!(red["testResults"]["failed"], 1, "reported results are not used");
        assert!(red["note"].is_string() && red["reported"]["total"] == 99, "{red}");
        project.write_code(function, code);
        let green = client.call("autopilot_complete_phase", json!({})).unwrap();
        assert_eq!(green["nextAction"], "commit_changes", "{green}");
        let committed =
            client.call("autopilot_commit", json!({"customMessage": format!("feat: {function}")})).unwrap();
        assert_eq!(committed["commitSha"], project.repo.git(["rev-parse", "HEAD"]));
        assert_eq!(committed["commitMessage"], format!("feat: {function}"));
        assert_eq!(committed["isComplete"], subtask == "42.2");
        assert_eq!(project.status_of(subtask), "done");
    }
    let last = client.call("autopilot_finalize", json!({})).unwrap();
    assert_eq!(
        (&last["phase"], &last["nextAction"]),
        (&json!("COMPLETE"), &json!("workflow_complete")),
        "{last}"
    );
    assert_eq!(last["progress"]["percentage"], 100);
    assert_eq!(project.repo.git(["rev-list", "--count", "main..HEAD"]), "2");
}

#[test]
fn mcp_autopilot_ignores_reported_test_results() {
    let Some(project) = Project::find() else { return };
    let client = begin(&project);
    client.call("autopilot_start", json!({"taskId": 42})).unwrap();
    let answer = client
        .call("autopilot_complete_phase", json!({"testResults": {"total": 3, "passed": 0, "failed": 3}}))
        .unwrap();
    assert_eq!((&answer["accepted"], &answer["tddPhase"]), (&json!(false), &json!("RED")), "{answer}");
    assert!(!answer["objections"].as_array().unwrap().is_empty());
    client.call("autopilot_commit", json!({})).unwrap_err();
}

#[test]
fn mcp_autopilot_commit_requires_all_changed_files() {
    let Some(project) = Project::find() else { return };
    let client = begin(&project);
    client.call("autopilot_start", json!({"taskId": 42})).unwrap();
    project.write_test("subtract", "2");
    client.call("autopilot_complete_phase", json!({})).unwrap();
    project.write_code("subtract", "a - b");
    client.call("autopilot_complete_phase", json!({})).unwrap();
    let error = client.call("autopilot_commit", json!({"files": ["metrics.py"]})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("test_subtract.py"), "{error}");
    client.call("autopilot_commit", json!({"files": ["metrics.py", "./test_subtract.py"]})).unwrap();
    assert_eq!(project.repo.git(["rev-list", "--count", "main..HEAD"]), "1");
}

#[test]
fn mcp_autopilot_resumes_and_aborts_a_paused_run() {
    let Some(project) = Project::find() else { return };
    let client = begin(&project);
    client.call("autopilot_start", json!({"taskId": "42", "maxAttempts": 1})).unwrap();
    let paused = client.call("autopilot_complete_phase", json!({})).unwrap();
    assert!(paused["paused"].is_string(), "{paused}");
    let resumed = client.call("autopilot_resume", json!({})).unwrap();
    assert_eq!(resumed["nextAction"], "generate_test");
    let advice = resumed["actionDescription"].as_str().unwrap();
    assert!(advice.starts_with("Generate failing tests"), "there are no tests to run yet: {advice}");
    assert!(resumed["nextSteps"].as_str().unwrap().starts_with("Write failing tests"), "{resumed}");
    let over = client.call("autopilot_abort", json!({})).unwrap();
    assert_eq!((&over["hadWorkflow"], &over["taskId"]), (&json!(true), &json!("42")));
    assert_eq!(client.call("autopilot_abort", json!({})).unwrap()["hadWorkflow"], false);
    assert_eq!(client.call("autopilot_status", json!({})).unwrap()["active"], false);
}

#[test]
fn mcp_autopilot_tools_report_invalid_input_as_tool_errors() {
    let Some(project) = Project::find() else { return };
    let client = begin(&project);
    for (tool, arguments, code) in [
        ("autopilot_start", json!({}), "INVALID_ARGUMENT"),
        ("autopilot_start", json!({"taskId": ["42"]}), "INVALID_ARGUMENT"),
        ("autopilot_start", json!({"taskId": "42", "maxAttempts": 0}), "INVALID_ARGUMENT"),
        ("autopilot_start", json!({"taskId": "7"}), "FAILED_PRECONDITION"),
        ("autopilot_start", json!({"taskId": "42.1"}), "FAILED_PRECONDITION"),
        ("autopilot_complete_phase", json!({"testResults": {"total": "many"}}), "INVALID_ARGUMENT"),
        ("autopilot_commit", json!({"files": "."}), "INVALID_ARGUMENT"),
        ("autopilot_next", json!({"phase": "RED"}), "INVALID_ARGUMENT"),
        ("autopilot_status", json!({"projectRoot": "/nowhere"}), "INVALID_ARGUMENT"),
        ("autopilot_resume", json!({"x": 1}), "INVALID_ARGUMENT"),
        ("autopilot_finalize", json!({"x": 1}), "INVALID_ARGUMENT"),
        ("autopilot_abort", json!({"x": 1}), "INVALID_ARGUMENT"),
        ("autopilot_next", json!({}), "FAILED_PRECONDITION"),
        ("autopilot_complete_phase", json!({}), "FAILED_PRECONDITION"),
        ("autopilot_commit", json!({}), "FAILED_PRECONDITION"),
        ("autopilot_resume", json!({}), "FAILED_PRECONDITION"),
        ("autopilot_finalize", json!({}), "FAILED_PRECONDITION"),
    ] {
        assert_eq!(client.refusal(tool, arguments.clone()), code, "{tool} {arguments}");
    }
    assert_eq!(project.repo.git(["branch", "--list"]), "* main", "nothing was begun");
}

/// Tests that block until they are released.
struct Held {
    running: PathBuf,
    go: PathBuf,
}

impl Held {
    fn new(project: &Project) -> Self {
        let [running, go] = ["running", "go"].map(|name| project.sandbox.root().join(name));
        let script = format!(
            "import os, time\nopen({:?}, 'w').close()\nwhile not os.path.exists({:?}):\n    time.sleep(0.05)\n",
            running.display().to_string(),
            go.display().to_string()
        );
        project.repo.write("test_held.py", &script);
        Self { running, go }
    }

    fn wait(&self) {
        wait_until("the tests run", || self.running.exists().then_some(()));
    }

    fn release(&self) {
        std::fs::write(&self.go, "").unwrap();
    }
}

#[test]
fn two_mcp_clients_share_one_autopilot_run() {
    let Some(project) = Project::find() else { return };
    let (first, second) = (begin(&project), begin(&project));
    first.call("autopilot_start", json!({"taskId": 42})).unwrap();
    project.write_test("subtract", "2");
    let held = Held::new(&project);
    std::thread::scope(|scope| {
        let judging = scope.spawn(|| first.call("autopilot_complete_phase", json!({})).unwrap());
        held.wait();
        // Reading works while the tests run; a second change is refused.
        assert_eq!(second.call("autopilot_status", json!({})).unwrap()["tddPhase"], "RED");
        let busy = second.call("autopilot_complete_phase", json!({})).unwrap_err();
        assert!(busy["message"].as_str().unwrap().contains("another autopilot is running"), "{busy}");
        held.release();
        assert_eq!(judging.join().unwrap()["accepted"], true);
    });
    assert_eq!(second.call("autopilot_next", json!({})).unwrap()["workUnit"]["phase"], "GREEN");
}

#[test]
fn mcp_server_finishes_a_change_after_the_client_disconnects() {
    let Some(project) = Project::find() else { return };
    begin(&project).call("autopilot_start", json!({"taskId": 42})).unwrap();
    project.write_test("subtract", "2");
    let held = Held::new(&project);
    let mut server = Raw::start_in(&project.sandbox, &project.repo.root);
    server.shake_hands();
    let params = json!({"name": "autopilot_complete_phase", "arguments": {}});
    server.send_json(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
    held.wait();
    server.hang_up();
    held.release();
    assert_eq!(server.end(), Some(0));
    let status = begin(&project).call("autopilot_status", json!({})).unwrap();
    assert_eq!(status["tddPhase"], "GREEN", "{status}");
}

#[test]
fn mcp_autopilot_requires_approval_of_the_projects_test_command() {
    let Some(project) = Project::find() else { return };
    project.repo.commit_file(".taskmaster/config.json", r#"{"test": {"runner": "touch pwned"}}"#, "config");
    let client = begin(&project);
    let error = client.call("autopilot_start", json!({"taskId": 42})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("is not approved"), "{error}");
    assert!(!project.repo.root.join("pwned").exists());
    assert_eq!(project.repo.git(["branch", "--list"]), "* main");
}
