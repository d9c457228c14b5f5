//! `git paw trust`

use paw_testkit::{Sandbox, TestRepo};
use serde_json::json;

use crate::paw::{document, paw};

fn project() -> (Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git-paw/config.toml", "[worktree]\nsetup_commands = [\"touch ran\"]\n");
    (sandbox, repo)
}

fn setup_status(sandbox: &Sandbox, repo: &TestRepo, branch: &str) -> serde_json::Value {
    document(&paw(sandbox, &repo.root, &["worktree", "create", branch, "--new", "--json"]))["setup_status"]
        .clone()
}

#[test]
fn repository_setup_runs_only_after_approval_and_only_unchanged() {
    let (sandbox, repo) = project();
    assert_eq!(setup_status(&sandbox, &repo, "one"), "untrusted");
    let ran = paw(&sandbox, &repo.root, &["trust"]);
    assert!(ran.code == 1 && ran.stdout.contains("touch ran") && ran.stderr.contains("--yes"), "{ran}");
    assert_eq!(paw(&sandbox, &repo.root, &["trust", "--yes"]).code, 0);
    assert_eq!(setup_status(&sandbox, &repo, "two"), "success");
    repo.write(".git-paw/config.toml", "[worktree]\nsetup_commands = [\"touch ran \"]\n");
    assert_eq!(setup_status(&sandbox, &repo, "three"), "untrusted");
}

#[test]
fn trust_lists_and_revokes_approvals() {
    let (sandbox, repo) = project();
    paw(&sandbox, &repo.root, &["trust", "--yes"]);
    let listed = document(&paw(&sandbox, &repo.root, &["trust", "--list", "--json"]));
    assert_eq!(listed["approvals"][0]["what"], json!(["setup command: touch ran"]));
    let ran = paw(&sandbox, &repo.root, &["trust", "--revoke"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "revoked 1 approval\n"));
    assert_eq!(setup_status(&sandbox, &repo, "one"), "untrusted");
}

#[test]
fn trust_refuses_an_agent() {
    let (mut sandbox, repo) = project();
    sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    for args in [&["trust", "--yes"][..], &["worktree", "create", "one", "--new", "--trust"]] {
        let ran = paw(&sandbox, &repo.root, args);
        assert!(ran.code == 1 && ran.stderr.contains("an agent cannot approve"), "{ran}");
    }
    assert_eq!(document(&paw(&sandbox, &repo.root, &["trust", "--list", "--json"]))["approvals"], json!([]));
}

#[test]
fn trust_reports_a_repository_without_commands() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let ran = paw(&sandbox, &repo.root, &["trust"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "this repository has no commands to approve\n"));
}

#[test]
fn trust_approves_gates_and_allowlist_together_with_setup() {
    let (sandbox, repo) = project();
    let text = "[worktree]\nsetup_commands = [\"touch ran\"]\n[supervisor]\ntest_command = \"true\"\n\
                [supervisor.common_dev_allowlist]\nextra = [\"just check\"]\n";
    repo.write(".git-paw/config.toml", text);
    let check = ["approvals", "check", "--json", "--", "just check"];
    let verdict = || document(&paw(&sandbox, &repo.root, &check))["verdict"].clone();
    assert_eq!(verdict(), "ask");
    let ran = paw(&sandbox, &repo.root, &["trust", "--yes"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("just check") && ran.stdout.contains("test_command"),
        "{ran}"
    );
    assert_eq!(verdict(), "allow");
    assert_eq!(document(&paw(&sandbox, &repo.root, &["verify", "main", "--json"]))["verdict"], "verified");
    assert_eq!(setup_status(&sandbox, &repo, "one"), "success");
}

#[test]
fn trust_covers_configured_cli_commands() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git-paw/config.toml", "[clis.mine]\ncommand = \"./mine\"\n");
    let ran = paw(&sandbox, &repo.root, &["trust"]);
    assert!(ran.code == 1 && ran.stdout.contains("./mine"), "{ran}");
    assert_eq!(paw(&sandbox, &repo.root, &["trust", "--yes"]).code, 0);
    let listed = paw(&sandbox, &repo.root, &["trust", "--list"]);
    assert!(listed.stdout.contains("clis.mine"), "{listed}");
}
