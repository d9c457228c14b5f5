//! Tasks over MCP.

use std::fs;

use paw_testkit::{Sandbox, TestRepo};
use serde_json::{Value, json};

use super::client::Client;
use crate::paw::{document, paw};

fn begin() -> (Sandbox, TestRepo, Client) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let client = Client::start(&sandbox, &repo.root, &["--tools", "tasks"]);
    (sandbox, repo, client)
}

#[test]
fn mcp_tasks_can_be_added_found_shown_and_completed() {
    let (sandbox, repo, client) = begin();
    assert_eq!(client.call("tasks_add", json!({"title": "Count", "priority": "high"})).unwrap()["id"], "1");
    let subtask =
        client.call("tasks_add", json!({"title": "Schema", "parent": 1, "testStrategy": "by hand"}));
    assert_eq!(subtask.unwrap()["id"], "1.1");
    client.call("tasks_add", json!({"title": "Other", "dependsOn": [1]})).unwrap();

    let listed = client.call("tasks_list", json!({"status": "pending"})).unwrap();
    assert_eq!(
        listed,
        document(&paw(&sandbox, &repo.root, &["tasks", "list", "--json"])),
        "as the command says"
    );
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(client.call("tasks_show", json!({"id": "1.1"})).unwrap()["fields"]["testStrategy"], "by hand");
    assert_eq!(client.call("tasks_next", json!({})).unwrap()["next"]["id"], "1");

    let changed = client.call("tasks_set_status", json!({"id": 1, "status": "done"})).unwrap();
    assert_eq!(changed["changed"][0], json!({"id": "1", "status": "done"}));
    assert_eq!(client.call("tasks_next", json!({})).unwrap()["next"]["id"], "2");
}

#[test]
fn mcp_task_tools_report_invalid_input_and_change_nothing() {
    let (_sandbox, repo, client) = begin();
    client.call("tasks_add", json!({"title": "Count"})).unwrap();
    let file = repo.root.join(".taskmaster/tasks/tasks.json");
    let before = fs::read(&file).unwrap();
    for (tool, arguments) in [
        ("tasks_add", json!({})),
        ("tasks_add", json!({"title": " \u{1b}[31m".repeat(0)})),
        ("tasks_add", json!({"title": "x", "parent": 9})),
        ("tasks_add", json!({"title": "x", "priority": "urgent"})),
        ("tasks_add", json!({"title": "x", "dependsOn": [{}]})),
        ("tasks_show", json!({"id": 99})),
        ("tasks_show", json!({"id": "../../etc/passwd"})),
        ("tasks_set_status", json!({"id": 1, "status": "$(reboot)"})),
        ("tasks_set_status", json!({"id": 1})),
        ("tasks_next", json!({"tag": ["master"]})),
        ("tasks_list", json!({"status": "done", "colour": "red"})),
    ] {
        let error = client.call(tool, arguments.clone()).unwrap_err();
        assert!(!error["message"].as_str().unwrap().is_empty(), "{tool} {arguments}: {error}");
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    let error = client.call("tasks_set_status", json!({"id": 1})).unwrap_err();
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert_eq!(error["hint"], "arguments: id, status, tag, projectRoot");
}

#[test]
fn mcp_calls_can_select_another_repository_by_path_or_url() {
    let (sandbox, _repo, client) = begin();
    let other = sandbox.repo("my other");
    paw(&sandbox, &other.root, &["tasks", "add", "Elsewhere"]);
    let address = format!("file://{}", other.root.display()).replace(' ', "%20");
    for place in [other.root.display().to_string(), address, "../my other".into()] {
        let listed = client.call("tasks_list", json!({"projectRoot": place})).unwrap();
        assert_eq!(listed["tasks"][0]["title"], "Elsewhere");
    }
    assert_eq!(client.refusal("tasks_list", json!({"projectRoot": 7})), "INVALID_ARGUMENT");
    assert_eq!(client.refusal("tasks_list", json!({"projectRoot": "/nowhere/at/all"})), "INVALID_ARGUMENT");
}

#[test]
fn two_mcp_clients_add_tasks_at_once_without_loss() {
    let (sandbox, repo, first) = begin();
    let second = Client::start(&sandbox, &repo.root, &["--tools", "tasks"]);
    std::thread::scope(|scope| {
        for (name, client) in [("a", &first), ("b", &second)] {
            scope.spawn(move || {
                for number in 0..10 {
                    client.call("tasks_add", json!({"title": format!("{name}{number}")})).unwrap();
                }
            });
        }
    });
    let listed = first.call("tasks_list", json!({})).unwrap();
    let titles: Vec<&str> = listed["tasks"].as_array().unwrap().iter().filter_map(title).collect();
    assert_eq!(titles.len(), 20);
    assert!((0..10).all(|n| titles.contains(&&*format!("a{n}")) && titles.contains(&&*format!("b{n}"))));
    assert_eq!(listed["problems"], json!([]), "no id is used twice");
}

fn title(task: &Value) -> Option<&str> {
    task["title"].as_str()
}
