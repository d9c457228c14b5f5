//! `git paw tasks`

use std::fs;

use paw_testkit::{Sandbox, TestRepo};

use crate::paw::{document, paw};

const TASKS: &str = r#"{
  "master": {
    "tasks": [
      {"id": 1, "title": "Storage", "status": "done", "priority": "low"},
      {"id": "2", "title": "Metrics \u001b[31m", "status": "in-progress", "dependencies": [1], "description": "Count",
       "subtasks": [
         {"id": 1, "title": "Schema", "status": "done"},
         {"id": 2, "title": "Endpoint", "dependencies": [1], "acceptanceCriteria": "- 201\n- 400"},
         {"id": 3, "title": "Widget", "dependencies": [2, "9.9"]}
       ]},
      {"id": 3, "title": "Later", "priority": "critical"}
    ]
  },
  "other": {"tasks": []}
}"#;

fn repo(sandbox: &Sandbox) -> TestRepo {
    let repo = sandbox.repo("app");
    repo.write(".taskmaster/tasks/tasks.json", TASKS);
    repo.write("src/deep/file", "");
    repo
}

fn stored(repo: &TestRepo) -> String {
    fs::read_to_string(repo.root.join(".taskmaster/tasks/tasks.json")).unwrap()
}

#[test]
fn tasks_list_shows_problems_and_strips_control_characters() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    insta::assert_snapshot!(paw(&sandbox, &repo.root.join("src/deep"), &["tasks", "list"]), @"
    exit 0
    --- stdout
    1 [done] Storage
    2 [in-progress] Metrics �[31m
      2.1 [done] Schema
      2.2 [pending] Endpoint
      2.3 [pending] Widget
    3 [pending] Later
    --- stderr
    warning: 2.3: depends on 9.9, which does not exist
    ");
}

#[test]
fn tasks_list_json_is_one_document() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    let listed =
        document(&paw(&sandbox, &repo.root, &["tasks", "list", "--json", "--status", "in-progress"]));
    assert_eq!(listed["tags"], serde_json::json!(["master", "other"]));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(listed["tasks"][0]["subtasks"][1]["id"], "2.2");
    assert_eq!(listed["problems"][0]["kind"], "missing_dependency");
}

#[test]
fn tasks_show_prints_a_subtask_with_its_criteria() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "show", "2.2"]), @"
    exit 0
    --- stdout
    2.2 [pending] Endpoint
    depends on: 2.1

    Acceptance criteria:
    - 201
    - 400
    ");
    let shown = document(&paw(&sandbox, &repo.root, &["tasks", "show", "2", "--json"]));
    assert_eq!((&shown["fields"]["description"], &shown["id"]), (&"Count".into(), &"2".into()));
}

#[test]
fn tasks_next_prefers_subtasks_of_started_tasks() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "next"]), @"
    exit 0
    --- stdout
    2.2 Endpoint
    start it: git paw tasks set-status 2.2 in-progress
    ");
    let next = document(&paw(&sandbox, &repo.root, &["tasks", "next", "--json", "--tag", "other"]));
    assert_eq!(next, serde_json::json!({"tag": "other", "next": null}));
}

#[test]
fn set_status_cascades_and_changes_nothing_else() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "set-status", "3", "in-progress"]), @"
    exit 0
    --- stdout
    3 [in-progress]
    ");
    let expected =
        TASKS.replace(r#""priority": "critical"}"#, r#""priority": "critical", "status": "in-progress"}"#);
    assert_eq!(stored(&repo), expected);
    let changed = document(&paw(&sandbox, &repo.root, &["tasks", "set-status", "2", "done", "--json"]));
    let ids: Vec<_> =
        changed["changed"].as_array().unwrap().iter().map(|change| change["id"].clone()).collect();
    assert_eq!(ids, ["2", "2.2", "2.3"]);
}

#[test]
fn set_status_refuses_invalid_ids_statuses_and_missing_tasks() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    for args in [["9", "done"], ["2.9", "done"], ["../x", "done"], ["2", "finished"]] {
        let ran = paw(&sandbox, &repo.root, &["tasks", "set-status", args[0], args[1]]);
        assert_eq!(ran.code, 1, "{ran}");
    }
    assert_eq!(stored(&repo), TASKS);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "show", "9"]), @"
    exit 1
    --- stderr
    error: there is no task 9 in tag 'master'
    hint: git paw tasks list shows what there is
    ");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "list", "--tag", "none"]), @"
    exit 1
    --- stderr
    error: there is no tag 'none' in tasks.json
    hint: tags: master, other
    ");
}

#[test]
fn tasks_add_creates_the_file_and_appends_to_it() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "list"]), @"
    exit 1
    --- stderr
    error: there are no tasks here: no .taskmaster/tasks/tasks.json in [SANDBOX]/app or above it
    hint: git paw tasks add TITLE creates one
    ");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "add", "Count \"things\""]), @r#"
    exit 0
    --- stdout
    added task 1 to 'master': Count "things"
    "#);
    let args = ["tasks", "add", "Schema", "--parent", "1", "--json"];
    assert_eq!(document(&paw(&sandbox, &repo.root, &args))["id"], "1.1");
    let args = ["tasks", "add", "Endpoint", "--parent", "1", "--depends-on", "1.1", "--json"];
    assert_eq!(document(&paw(&sandbox, &repo.root, &args))["id"], "1.2");
    let args = ["tasks", "add", "Other", "--depends-on", "1", "--priority", "high"];
    assert_eq!(paw(&sandbox, &repo.root, &args).code, 0);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "list"]), @r#"
    exit 0
    --- stdout
    1 [pending] Count "things"
      1.1 [pending] Schema
      1.2 [pending] Endpoint
    2 [pending] Other
    "#);
}

#[test]
fn tasks_tag_comes_from_variable_or_branch() {
    let mut sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    repo.write(
        ".taskmaster/state.json",
        r#"{"currentTag": "master", "branchTagMapping": {"feat/x": "other"}}"#,
    );
    let tag =
        |sandbox: &Sandbox| document(&paw(sandbox, &repo.root, &["tasks", "next", "--json"]))["tag"].clone();
    assert_eq!(tag(&sandbox), "master");
    repo.git(["checkout", "--quiet", "-b", "feat/x"]);
    assert_eq!(tag(&sandbox), "other");
    sandbox.set("TASKMASTER_TAG", "master");
    assert_eq!(tag(&sandbox), "master");
}

#[test]
fn tasks_file_with_merge_markers_is_reported_with_its_line() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".taskmaster/tasks/tasks.json", "{\n<<<<<<< HEAD\n}\n");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "list"]), @"
    exit 1
    --- stderr
    error: cannot read [SANDBOX]/app/.taskmaster/tasks/tasks.json: it has merge conflict markers, the first in line 2
    hint: resolve the conflict first
    ");
}
