//! Worktrees, session, specs and gates over MCP.

use paw_testkit::{Sandbox, TestRepo};
use serde_json::json;

use super::client::Client;
use crate::paw::{document, paw};

fn begin() -> (Sandbox, TestRepo, Client) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let client = Client::start(&sandbox, &repo.root, &["--tools", "worktrees,session,specs,gates"]);
    (sandbox, repo, client)
}

#[test]
fn mcp_worktrees_can_be_created_listed_and_removed() {
    let (sandbox, repo, client) = begin();
    let made = client.call("worktree_create", json!({"branch": "feat/x", "new": true})).unwrap();
    let path = made["worktree"]["path"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&path).join("README.md").exists());
    let listed = client.call("worktree_list", json!({})).unwrap();
    let command = document(&paw(&sandbox, &repo.root, &["worktree", "list", "--json"]));
    assert_eq!(sandbox.redact(&listed.to_string()), command.to_string(), "as the command says");

    std::fs::write(std::path::Path::new(&path).join("work"), "not committed").unwrap();
    client.call("worktree_remove", json!({"worktree": "x"})).unwrap_err();
    assert!(std::path::Path::new(&path).exists(), "work is not thrown away");
    std::fs::remove_file(std::path::Path::new(&path).join("work")).unwrap();
    assert_eq!(client.call("worktree_remove", json!({"worktree": "x"})).unwrap()["removed"], true);
    assert_eq!(client.call("worktree_list", json!({})).unwrap()["worktrees"], json!([]));
}

#[test]
fn mcp_worktree_errors_have_the_codes_of_the_command() {
    let (sandbox, repo, client) = begin();
    for branch in ["no/such/branch", "--force", "a b", "../x", ""] {
        let command = document(&paw(&sandbox, &repo.root, &["worktree", "create", "--json", "--", branch]));
        assert_eq!(client.refusal("worktree_create", json!({"branch": branch})), command["error"]["code"]);
    }
    assert_eq!(client.refusal("worktree_remove", json!({"worktree": "nothing"})), "NOT_FOUND");
    assert_eq!(client.refusal("worktree_create", json!({"branch": "x", "force": true})), "INVALID_ARGUMENT");
    assert_eq!(client.refusal("worktree_list", json!({"all": "yes"})), "INVALID_ARGUMENT");
}

#[test]
fn mcp_session_reports_a_missing_session() {
    let (_sandbox, _repo, client) = begin();
    assert_eq!(client.call("session_status", json!({})).unwrap(), json!({"session": null}));
    assert_eq!(client.refusal("session_status", json!({"verbose": 1})), "INVALID_ARGUMENT");
}

#[test]
fn mcp_specs_can_be_listed_and_read() {
    let (_sandbox, repo, client) = begin();
    repo.write(".git-paw/config.toml", "[specs]\ntype = \"markdown\"\ndir = \"specs\"\n");
    repo.write("specs/login.md", "---\npaw_status: pending\n---\n# Log in\n\nWith a password.\n");
    let listed = client.call("spec_list", json!({})).unwrap();
    assert_eq!(listed["specs"][0]["id"], "login", "{listed}");
    let shown = client.call("spec_show", json!({"id": "login"})).unwrap();
    assert!(shown["specs"][0]["prompt"].as_str().unwrap().contains("With a password."));
    let error = client.call("spec_show", json!({"id": "logout"})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("logout"), "{error}");
    assert_eq!(client.refusal("spec_list", json!({"dir": "/etc"})), "INVALID_ARGUMENT");
}

#[test]
fn mcp_gates_of_the_repository_run_only_after_approval() {
    let (sandbox, repo, client) = begin();
    repo.write(".git-paw/config.toml", "[supervisor]\nenabled = true\ntest_command = \"test -e proof\"\n");
    repo.git(["checkout", "--quiet", "-b", "feat/x"]);
    repo.commit_file("proof", "", "proof");
    repo.git(["checkout", "--quiet", "main"]);
    let gates = client.call("gate_list", json!({})).unwrap();
    assert_eq!(gates, json!({"gates": [{"gate": "test", "command": "test -e proof"}], "approved": false}));
    let error = client.call("gate_verify", json!({"branch": "feat/x"})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("not approved"), "{error}");
    assert!(error["hint"].as_str().is_some(), "{error}");

    assert_eq!(paw(&sandbox, &repo.root, &["verify", "feat/x", "--trust"]).code, 0);
    let proven = client.call("gate_verify", json!({"branch": "feat/x", "gates": ["test"]})).unwrap();
    assert_eq!(proven["verdict"], "verified", "{proven}");
    assert_eq!(client.call("gate_list", json!({})).unwrap()["approved"], true);
    assert_eq!(
        client.refusal("gate_verify", json!({"branch": "feat/x", "gates": ["luck"]})),
        "INVALID_ARGUMENT"
    );
    client.call("gate_verify", json!({"branch": "no/such"})).unwrap_err();
    assert_eq!(client.refusal("gate_list", json!({"branch": "feat/x"})), "INVALID_ARGUMENT");
}
