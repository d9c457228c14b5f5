//! `git paw tasks add --spec`

use std::fs;

use paw_testkit::{Sandbox, TestRepo};
use serde_json::json;

use crate::paw::{document, paw};

const CHANGE: &str = "## 1. Backend\n- [x] 1.1 Create the table\n- [ ] 1.2 Add the endpoint\n  - answers 201\n## 2. Page\n- [ ] 2.1 Show the \u{1b}[31mcode\n";

fn repo(sandbox: &Sandbox) -> TestRepo {
    let repo = sandbox.repo("app");
    repo.write("specs/add-login/tasks.md", CHANGE);
    repo.write("specs/add-login/specs/auth/spec.md", "# Auth\n\nIt MUST ask twice.\n");
    repo.write("specs/add-logout/tasks.md", "- [x] 1.1 All of it\n");
    repo
}

#[test]
fn from_spec_dry_run_shows_the_task_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["tasks", "add", "--spec", "add-login", "--dry-run"]), @r"
    exit 0
    --- stdout
    would add a task with 2 subtasks to 'master': Add login
      1 Add the endpoint
      2 Show the �[31mcode

      Spec: specs/add-login (add-login)

      ## 1. Backend
      - [x] 1.1 Create the table
      - [ ] 1.2 Add the endpoint
        - answers 201
      ## 2. Page
      - [ ] 2.1 Show the �[31mcode

      ## Spec: auth

      # Auth

      It MUST ask twice.
    ");
    assert!(!repo.root.join(".taskmaster").exists());
}

#[test]
fn from_spec_creates_one_task_with_open_tasks_as_subtasks() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    let add = ["tasks", "add", "--spec", "add-login", "--priority", "high"];
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &add), @r"
    exit 0
    --- stdout
    added task 1 with 2 subtasks to 'master': Add login
      1 Add the endpoint
      2 Show the �[31mcode
    ");
    let text = fs::read_to_string(repo.root.join(".taskmaster/tasks/tasks.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&text).unwrap();
    let task = &stored["master"]["tasks"][0];
    assert_eq!((&task["title"], &task["priority"]), (&json!("Add login"), &json!("high")));
    assert!(task["details"].as_str().unwrap().contains("It MUST ask twice."), "{task}");
    assert_eq!(task["subtasks"][0]["title"], "Add the endpoint");
    assert_eq!(task["subtasks"][0]["details"], "- answers 201");
    assert_eq!(task["subtasks"].as_array().unwrap().len(), 2);

    insta::assert_snapshot!(paw(&sandbox, &repo.root, &add), @r"
    exit 1
    --- stderr
    error: task 1 was already created from this spec (Spec: specs/add-login (add-login))
    hint: git paw tasks show 1
    ");
    let again = fs::read_to_string(repo.root.join(".taskmaster/tasks/tasks.json")).unwrap();
    assert_eq!(again, text);
}

#[test]
fn from_spec_json_is_one_document_and_title_flag_wins() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    let made =
        document(&paw(&sandbox, &repo.root, &["tasks", "add", "Log in", "--spec", "add-login", "--json"]));
    assert_eq!(
        (&made["id"], &made["title"], &made["added"]),
        (&json!("1"), &json!("Log in"), &json!(["1.1", "1.2"]))
    );
    let listed = document(&paw(&sandbox, &repo.root, &["tasks", "list", "--json"]));
    assert_eq!(listed["tasks"][0]["subtasks"][0]["id"], "1.1");
}

#[test]
fn from_spec_refuses_done_unknown_and_unsupported_specs() {
    let sandbox = Sandbox::new();
    let repo = repo(&sandbox);
    let refused = |args: &[&str], why: &str| {
        let ran = paw(&sandbox, &repo.root, &[&["tasks", "add"], args].concat());
        assert_ne!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains(why), "{ran}");
        assert!(!repo.root.join(".taskmaster").exists());
    };
    refused(&["--spec", "add-logout"], "every task of spec 'add-logout' is done");
    refused(&["--spec", "unknown"], "no spec 'unknown'");
    refused(&["--spec", "add-login", "--parent", "1"], "cannot be used with");
    refused(&["title", "--dry-run"], "--spec");
    refused(&[], "required");
}
