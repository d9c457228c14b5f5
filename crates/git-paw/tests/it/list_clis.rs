//! `git paw list-clis`

use paw_testkit::Sandbox;
use serde_json::json;

use crate::paw::{document, paw};

const SCRIPT: &str = "#!/bin/sh\n";

#[test]
fn list_clis_runs_without_error() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["list-clis"]), @"
    exit 0
    --- stdout
    no AI coding CLI found on PATH
    hint: install one (claude, codex, gemini, …), or add your own: git paw add-cli <name> <command>
    ");
}

#[test]
fn list_clis_shows_detected_and_custom_clis() {
    let sandbox = Sandbox::new();
    for name in ["claude", "aider", "wrapper"] {
        sandbox.install_program(name, SCRIPT);
    }
    sandbox.write(
        "home/.config/git-paw/config.toml",
        "[clis.claude]\ncommand = \"wrapper\"\n[clis.ghost]\ncommand = \"ghost-agent\"\n",
    );
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["list-clis"]), @"
    exit 0
    --- stdout
    NAME    DISPLAY NAME  SOURCE    PATH
    aider   Aider         detected  [SANDBOX]/bin/aider
    claude  Claude Code   custom    [SANDBOX]/bin/wrapper
    --- stderr
    warning: CLI 'ghost' is configured, but its command 'ghost-agent' was not found
    ");
}

#[test]
fn list_clis_escapes_unsafe_characters_in_the_configuration() {
    let sandbox = Sandbox::new();
    sandbox.install_program("wrapper", SCRIPT);
    sandbox.write(
        "home/.config/git-paw/config.toml",
        r#"[clis.evil]
command = "wrapper"
display_name = "E\u202evil\u001b[2J\n"
[clis.ghost]
command = "gh\u2066ost\u0007"
"#,
    );
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["list-clis"]), @"
    exit 0
    --- stdout
    NAME  DISPLAY NAME  SOURCE  PATH
    evil  E�vil�[2J     custom  [SANDBOX]/bin/wrapper
    --- stderr
    warning: CLI 'ghost' is configured, but its command 'gh�ost�' was not found
    ");
}

#[test]
fn list_clis_json_is_one_document() {
    let sandbox = Sandbox::new();
    sandbox.install_program("codex", SCRIPT);
    let ran = paw(&sandbox, &sandbox.root(), &["list-clis", "--json"]);
    assert_eq!(
        document(&ran),
        json!({"clis": [{"name": "codex", "display_name": "Codex", "source": "detected", "path": "[SANDBOX]/bin/codex"}],
               "missing": []})
    );
}

#[test]
fn list_clis_includes_repository_clis_in_a_linked_worktree() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    sandbox.install_program("team-agent", SCRIPT);
    repo.write(".git-paw/config.toml", "[clis.team]\ncommand = \"team-agent\"\n");
    let linked = sandbox.root().join("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "x", linked.to_str().unwrap()]);
    for dir in [&repo.root, &linked] {
        let ran = paw(&sandbox, dir, &["list-clis", "--json"]);
        assert_eq!(document(&ran)["clis"][0]["name"], "team", "{ran}");
    }
}

#[test]
fn list_clis_ignores_programs_in_the_current_directory() {
    let mut sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write("claude", SCRIPT);
    repo.git(["update-index", "--add", "--chmod=+x", "claude"]);
    repo.git(["checkout-index", "--force", "--all"]);
    let tools = sandbox.root().join("tools");
    sandbox.set("PATH", format!(":.:{}", tools.display()));
    let ran = paw(&sandbox, &repo.root, &["list-clis", "--json"]);
    assert_eq!(document(&ran)["clis"], json!([]));
}

#[test]
fn list_clis_ignores_git_environment_variables() {
    let mut sandbox = Sandbox::new();
    let (here, elsewhere) = (sandbox.repo("here"), sandbox.repo("elsewhere"));
    sandbox.install_program("agent", SCRIPT);
    here.write(".git-paw/config.toml", "[clis.here]\ncommand = \"agent\"\n");
    elsewhere.write(".git-paw/config.toml", "[clis.elsewhere]\ncommand = \"agent\"\n");
    sandbox.set("GIT_DIR", elsewhere.root.join(".git"));
    sandbox.set("GIT_WORK_TREE", elsewhere.root.clone());
    let ran = paw(&sandbox, &here.root, &["list-clis", "--json"]);
    assert_eq!(document(&ran)["clis"][0]["name"], "here", "{ran}");
}
