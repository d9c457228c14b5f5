//! Sessions of opencode: the plugin that tells what it does.

use std::fs;

use paw_testkit::{AgentLook, Sandbox, git, wait_until};

use crate::paw::paw;

const CONFIG: &str = "[broker]\nenabled = true\n";

/// A CLI of that name, which writes down the part of its environment that matters.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    sandbox.write("home/.config/git-paw/config.toml", CONFIG);
    let agent = sandbox.install_agent("opencode", AgentLook::Plain, "");
    let program = sandbox.root().join("real-opencode");
    fs::rename(&agent.program, &program).unwrap();
    let wrapper = format!(
        "#!/bin/sh\nprintf %s \"$OPENCODE_CONFIG_CONTENT\" > '{}'\nexec '{}' \"$@\"\n",
        sandbox.root().join("content").display(),
        program.display()
    );
    sandbox.install_program("opencode", &wrapper);
    sandbox
}

#[test]
fn its_plugin_lies_beside_the_log_and_goes_with_the_session() {
    let sandbox = sandbox();
    let repo = sandbox.repo("my app");
    let args = ["start", "--no-supervisor", "--cli", "opencode", "--branches", "feat/x"];
    let ran = paw(&sandbox, &repo.root, &args);
    assert_eq!(ran.code, 0, "{ran}");
    let content = wait_until("it has started", || {
        fs::read_to_string(sandbox.root().join("content")).ok().filter(|content| !content.is_empty())
    });
    let plugin = repo.root.join(".git/paw-opencode-plugin.js");
    let url = format!("file://{}", plugin.display().to_string().replace(' ', "%20"));
    assert_eq!(content, format!("{{\"plugin\":[\"{url}\"]}}"));
    let text = fs::read_to_string(&plugin).unwrap();
    assert!(text.contains("\"hook\", \"--cli\", \"opencode\"") && !text.contains("@PROGRAM@"), "{text}");
    let worktree = sandbox.root().join("my app-feat-x");
    let there = git(&worktree, ["status", "--porcelain", "--ignored"]);
    assert_eq!(there, "!! AGENTS.md", "nothing of it is in the worktree");
    let ran = paw(&sandbox, &repo.root, &["purge", "--force"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!plugin.exists());
}

#[test]
fn a_configuration_that_the_user_has_put_there_is_left_alone() {
    let mut sandbox = sandbox();
    let repo = sandbox.repo("app");
    sandbox.set("OPENCODE_CONFIG_CONTENT", "{\"theme\":\"mine\"}");
    let args = ["start", "--no-supervisor", "--cli", "opencode", "--branches", "feat/x"];
    let ran = paw(&sandbox, &repo.root, &args);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("OPENCODE_CONFIG_CONTENT is already set"), "{ran}");
    assert!(!repo.root.join(".git/paw-opencode-plugin.js").exists());
}
