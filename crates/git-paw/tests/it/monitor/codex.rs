//! codex prompts, which do not show where a command would run.

use std::fs;
use std::path::Path;

use paw_testkit::{AgentLook, Sandbox, wait_until};
use serde_json::{Value, json};

use super::World;

/// Draws a codex prompt for the command in `~/ask` and records the key that answers it.
const CODEX: &str = r#"#!/usr/bin/env bash
clear_screen() { printf '\033[2J\033[H'; }
clear_screen
while :; do
  if [ -e "$HOME/ask" ]; then
    command=$(cat "$HOME/ask"); rm "$HOME/ask"
    clear_screen
    printf '\n  >_ OpenAI Codex (v0.166.0)\n     %s\n\n\n› go\n\n\n• Running %s\n\n\n\n' "$PWD" "$command"
    printf '  Would you like to run the following command?\n\n  Environment: local\n\n  Reason: it is needed\n\n  $ %s\n\n\n' "$command"
    printf '› 1. Yes, proceed (y)\n  2. Yes, and don'\''t ask again for commands that start with `x` (p)\n'
    printf '  3. No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel\n'
    read -rsn1 key
    echo "$key $command" >> "$HOME/keys"
    clear_screen
  fi
  sleep 0.1
done
"#;

fn world() -> World {
    let sandbox = Sandbox::new();
    sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    sandbox.install_program("boss", "#!/bin/sh\nexec sleep 600\n");
    let script = sandbox.install_program(".codex-script", CODEX);
    // tmux reports a program by its first word.
    sandbox.install_program(
        "codex",
        &format!("#!/usr/bin/env bash\nexec -a codex bash '{}'\n", script.display()),
    );
    sandbox.write(
        "home/.config/git-paw/config.toml",
        "[broker]\nenabled = true\n[clis.boss]\ncommand = \"boss\"\n[supervisor]\ncli = \"boss\"\n",
    );
    let agent = sandbox.install_agent("unused", AgentLook::Plain, "");
    let world = World { repo: sandbox.repo("app"), sandbox, agent };
    let ran = world.paw(&["start", "--supervisor", "--cli", "codex", "--branches", "feat/x"]);
    assert_eq!(ran.code, 0, "{ran}");
    world
}

impl World {
    /// codex reports a tool call of its model and asks for approval.
    fn codex_asks(&self, command: &str, arguments: &Value) {
        let transcript = self.sandbox.home().join(".codex/sessions/rollout.jsonl");
        let mut call = json!({"cmd": command});
        call.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let payload = json!({"type": "function_call", "name": "exec_command", "call_id": command, "arguments": call.to_string()});
        let context = json!({"type": "turn_context", "payload": {"cwd": self.worktree()}});
        let line = json!({"type": "response_item", "payload": payload});
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        fs::write(&transcript, format!("{context}\n{line}\n")).unwrap();
        let mut record: Value =
            serde_json::from_str(&self.record("PreToolUse", "Bash", &json!({"command": command}))).unwrap();
        record["transcript_path"] = json!(transcript);
        assert_eq!(self.hook_of("codex", &record.to_string()).code, 0);
        self.draw(command);
    }

    fn draw(&self, command: &str) {
        fs::write(self.sandbox.home().join("ask.new"), command).unwrap();
        fs::rename(self.sandbox.home().join("ask.new"), self.sandbox.home().join("ask")).unwrap();
    }

    fn keys(&self) -> String {
        fs::read_to_string(self.sandbox.home().join("keys")).unwrap_or_default()
    }

    /// The approval question about this command, once it was published. No key was pressed.
    fn asked_about(&self, command: &str) -> String {
        let asked = wait_until("a question is published", || {
            self.questions().into_iter().find(|question| question.contains(command))
        });
        assert!(!self.keys().contains(command), "{}", self.keys());
        self.tmux(&["send-keys", "-t", &self.pane(), "n"]);
        wait_until("the prompt is answered", || self.keys().contains(command).then_some(()));
        asked
    }
}

#[test]
fn monitor_judges_a_codex_command_in_its_directory_and_asks_if_that_is_unknown() {
    let world = world();
    world.draw("cargo test --lib");
    let asked = world.asked_about("cargo test --lib");
    assert!(asked.contains("its CLI does not report where the command would run"), "{asked}");

    let elsewhere = Path::new("/").join("tmp");
    world.codex_asks("cargo test --bins", &json!({"workdir": elsewhere}));
    let asked = world.asked_about("cargo test --bins");
    assert!(asked.contains("the shell is not in the worktree"), "{asked}");

    world.codex_asks("cargo test --doc", &json!({"shell": "/tmp/bash"}));
    let asked = world.asked_about("cargo test --doc");
    assert!(asked.contains("its CLI does not report where the command would run"), "{asked}");

    world.codex_asks("cargo test --all", &json!({"workdir": world.worktree()}));
    wait_until("the prompt is approved automatically", || {
        world.keys().contains("y cargo test --all").then_some(())
    });
    world.codex_asks("cargo test", &json!({}));
    wait_until("the prompt is approved automatically", || {
        world.keys().contains("y cargo test\n").then_some(())
    });
    assert_eq!(world.questions().len(), 3);
}
