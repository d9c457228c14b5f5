//! What claude is told to let agents do unasked.

use std::fs;

use paw_testkit::{AgentLook, Sandbox, git};
use serde_json::Value;

use crate::paw::paw;

#[test]
fn claude_lets_an_agent_talk_by_a_file_that_is_never_committed_and_goes_with_the_session() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    sandbox.install_agent("claude", AgentLook::Claude, "");
    sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
    let repo = sandbox.repo("app");
    let ran =
        paw(&sandbox, &repo.root, &["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/x"]);
    assert_eq!(ran.code, 0, "{ran}");
    let worktree = sandbox.root().join("app-feat-x");
    let text = fs::read_to_string(worktree.join(".claude/settings.local.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let allow = settings["permissions"]["allow"].as_array().unwrap();
    assert!(allow.contains(&"Bash(git paw say:*)".into()), "{text}");
    assert!(settings["hooks"].is_object(), "{text}");
    assert_eq!(git(&worktree, ["status", "--porcelain"]), "");
    assert_eq!(paw(&sandbox, &repo.root, &["purge", "--force"]).code, 0);
    assert!(!worktree.exists());
}
