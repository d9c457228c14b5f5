//! The offered tools and their descriptions.

use paw_testkit::Sandbox;
use serde_json::json;

use super::client::Client;
use crate::paw::paw;

fn names(args: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    Client::start(&sandbox, &repo.root, args).names()
}

#[test]
fn mcp_default_tool_sets_are_autopilot_tasks_and_coordination() {
    insta::assert_snapshot!(names(&[]).join(" "), @"autopilot_start autopilot_next autopilot_complete_phase autopilot_commit autopilot_status autopilot_resume autopilot_finalize autopilot_abort tasks_list tasks_show tasks_next tasks_set_status tasks_add say inbox intents conflicts agents");
}

#[test]
fn mcp_offers_every_tool_set_on_request() {
    insta::assert_snapshot!(names(&["--tools", "worktrees,session", "--tools", "specs,gates"]).join(" "), @"worktree_list worktree_create worktree_remove session_status spec_list spec_show gate_list gate_verify");
    let usual = names(&[]).len() + names(&["--tools", "project"]).len() + 8;
    assert_eq!(names(&["--tools", "all"]).len(), usual);
}

#[test]
fn mcp_read_only_offers_no_tool_that_changes_anything() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let client = Client::start(&sandbox, &repo.root, &["--tools", "all", "--read-only"]);
    let tools = client.tools();
    for tool in &tools {
        let read_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint);
        assert_eq!(read_only, Some(true), "{}", tool.name);
    }
    let names: Vec<_> = tools.into_iter().map(|tool| tool.name.into_owned()).collect();
    insta::assert_snapshot!(names.join(" "), @"autopilot_next autopilot_status tasks_list tasks_show tasks_next inbox intents conflicts agents worktree_list session_status spec_list spec_show gate_list governance decision_records audit docs files file_read file_search commits diff learnings skill spec_graph");
    for changing in
        ["say", "tasks_add", "tasks_set_status", "autopilot_commit", "worktree_create", "gate_verify"]
    {
        assert!(!names.iter().any(|name| name == changing));
        let error = client.protocol_error(changing);
        assert!(error.contains(&format!("unknown tool '{changing}'")), "{error}");
    }
}

#[test]
fn mcp_tools_describe_their_arguments_and_effects() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let tools = Client::start(&sandbox, &repo.root, &[]).tools();
    let say = tools.iter().find(|tool| tool.name == "say").unwrap();
    assert_eq!(say.input_schema["required"], json!(["type"]));
    assert_eq!(
        say.input_schema["properties"]["type"]["enum"],
        json!(["status", "intent", "artifact", "blocked", "question", "answer", "feedback", "learning"])
    );
    let show = tools.iter().find(|tool| tool.name == "tasks_show");
    insta::assert_snapshot!(serde_json::to_string(&show).unwrap(), @r#"{"name":"tasks_show","description":"Show a task or subtask with all its fields.","inputSchema":{"type":"object","additionalProperties":false,"properties":{"id":{"type":"string","description":"42 is a task, 42.1 its first subtask"},"tag":{"type":"string","description":"The tag (default: the branch's own, else the active one)"},"projectRoot":{"type":"string","description":"Repository or worktree (default: the one in which the server was started)"}},"required":["id"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#);
}

#[test]
fn mcp_refuses_an_unknown_tool_set_and_lists_the_known_ones() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["mcp", "--tools", "everything"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.contains("autopilot, tasks, coordination, worktrees, session, specs, gates, project, all"),
        "{ran}"
    );
}

#[test]
fn mcp_server_starts_outside_of_a_repository_and_its_tools_report_it() {
    let sandbox = Sandbox::new();
    let client = Client::start(&sandbox, &sandbox.root(), &["--tools", "all"]);
    for tool in ["tasks_list", "agents", "session_status", "spec_list", "gate_list"] {
        assert_eq!(client.refusal(tool, json!({})), "FAILED_PRECONDITION", "{tool}");
    }
}
