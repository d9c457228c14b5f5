//! `git paw explain`

use std::fs;
use std::path::Path;

use paw_testkit::{AgentLook, Sandbox, wait_until};
use serde_json::{Value, json};

use crate::paw::{document, paw};

/// A recorded screen of a real CLI.
fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paw-agent/tests/fixtures/screens").join(name);
    path.to_str().unwrap().to_owned()
}

fn explain(name: &str) -> Value {
    let sandbox = Sandbox::new();
    let cli = name.split('-').next().unwrap();
    let repo = sandbox.repo("app");
    document(&paw(&sandbox, &repo.root, &["explain", "--cli", cli, "--screen", &recorded(name), "--json"]))
}

#[test]
fn a_screen_without_a_prompt_has_a_state_and_a_reason() {
    let idle = json!({"state": "idle", "reason": "the input is empty and the agent is not working"});
    assert_eq!(explain("claude-idle.txt"), idle);
    assert_eq!(explain("codex-done-idle.ansi.txt")["state"], "idle");
}

#[test]
fn a_command_on_the_screen_is_judged() {
    let harmless = explain("claude-perm-bash-cargo-test.ansi.txt");
    assert_eq!((&harmless["command"], &harmless["verdict"]), (&json!("cargo test"), &json!("allow")));
    let push = explain("claude-perm-bash-compound.ansi.txt");
    assert_eq!(push["verdict"], "ask");
    assert!(push["command"].as_str().unwrap().starts_with("git push --force"), "{push}");
}

#[test]
fn of_all_recorded_screens_only_the_harmless_commands_are_allowed() {
    let screens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paw-agent/tests/fixtures/screens");
    let names = fs::read_dir(screens).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut allowed: Vec<String> = names.filter(|name| explain(name)["verdict"] == "allow").collect();
    allowed.sort();
    assert_eq!(
        allowed,
        [
            "aider-perm-shell.ansi.txt",
            "claude-perm-bash-cargo-test.ansi.txt",
            "claude-perm-bash-cargo-test.txt",
            "claude-perm-bash-git-commit.ansi.txt",
            "claude-perm-bash-git-commit.txt",
            "codex-perm-exec.ansi.txt",
            "codex-perm-exec.txt",
            "codex-perm-git-commit.ansi.txt",
            "codex-perm-git-commit.txt",
            "gemini-perm-exec.ansi.txt",
            "gemini-perm-exec.txt",
            "gemini-perm-warned.ansi.txt",
            "gemini-perm-warned.txt",
            "opencode-perm-bash-2.ansi.txt",
            "opencode-perm-bash-2.txt",
            "opencode-perm-bash.ansi.txt",
            "opencode-perm-bash.txt",
        ]
    );
}

#[test]
fn what_cannot_be_read_whole_is_asked_about() {
    assert_eq!(
        explain("claude-perm-heredoc.ansi.txt"),
        json!({
            "state": "waiting_approval",
            "verdict": "ask",
            "reason": "the CLI asks to approve a command; not readable: it does not offer the expected choices",
        })
    );
}

#[test]
fn the_answer_for_people_says_the_same() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let file = recorded("gemini-perm-exec.ansi.txt");
    let ran = paw(&sandbox, &repo.root, &["explain", "--cli", "gemini", "--screen", &file]);
    assert!(
        ran.stdout.starts_with("state:   waiting_approval\ncommand: cargo test\nverdict: allow\nreason:  "),
        "{ran}"
    );
}

#[test]
fn a_screen_that_is_not_there_or_not_text_is_no_crash() {
    let sandbox = Sandbox::new();
    let missing =
        paw(&sandbox, &sandbox.root(), &["explain", "--cli", "claude", "--screen", "no.txt", "--json"]);
    assert_eq!((missing.code, document(&missing)["error"]["message"].is_string()), (1, true), "{missing}");
    fs::write(sandbox.root().join("bytes"), [0xff, 0x1b, 0x5b, 0x00, 0xc3]).unwrap();
    let bytes =
        paw(&sandbox, &sandbox.root(), &["explain", "--cli", "claude", "--screen", "bytes", "--json"]);
    assert_eq!((bytes.code, document(&bytes)["state"].as_str()), (0, Some("unknown")), "{bytes}");
}

#[test]
fn an_agent_of_the_session_is_explained_by_what_it_shows_now() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
    // A pane's login shell begins with the machine's own PATH.
    let root = sandbox.root();
    sandbox.write("home/.profile", &format!("PATH='{0}/bin:{0}/tools'\n", root.display()));
    let started = paw(&sandbox, &repo.root, &["start", "--cli", "claude", "--branches", "feat/x"]);
    assert_eq!(started.code, 0, "{started}");
    wait_until("the agent is ready", || agent.events().iter().any(|event| event == "ready").then_some(()));
    let explained = |name: &str| document(&paw(&sandbox, &repo.root, &["explain", name, "--json"]));
    let idle =
        wait_until("it is idle", || Some(explained("feat-x")).filter(|answer| answer["state"] == "idle"));
    assert_eq!(idle["source"], "screen");
    assert_eq!(explained("feat/x"), idle);
    let nobody = paw(&sandbox, &repo.root, &["explain", "nobody"]);
    assert_eq!(nobody.code, 1, "{nobody}");
    sandbox.tmux(["kill-server"]);
    assert_eq!(explained("feat-x")["state"], "exited");
}
