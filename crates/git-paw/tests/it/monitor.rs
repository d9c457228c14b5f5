//! The session's monitor: hooks, screens, and its reactions to them.

mod codex;
mod dashboard;
mod hook;
mod keys;
mod narrow;
mod restart;
mod sweep;
mod watch;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use paw_testkit::{AgentLook, FakeAgent, RunOutput, Sandbox, TestRepo, wait_until};
use serde_json::{Value, json};

use crate::paw::{PROGRAM, document, paw};

/// A session with an agent on `feat/x` that looks like claude, and optionally a supervisor that does nothing.
struct World {
    sandbox: Sandbox,
    repo: TestRepo,
    agent: FakeAgent,
}

impl World {
    fn supervised(config: &str) -> Self {
        Self::started("--supervisor", config)
    }

    fn started(mode: &str, config: &str) -> Self {
        let sandbox = Sandbox::new();
        // A login shell would read this machine's profile and change PATH.
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        sandbox.install_program("boss", "#!/bin/sh\nexec sleep 600\n");
        let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
        let text = format!(
            "[broker]\nenabled = true\n[clis.boss]\ncommand = \"boss\"\n[supervisor]\ncli = \"boss\"\n{config}"
        );
        sandbox.write("home/.config/git-paw/config.toml", &text);
        let world = Self { repo: sandbox.repo("app"), sandbox, agent };
        let ran = world.paw(&["start", mode, "--cli", "claude", "--branches", "feat/x"]);
        assert_eq!(ran.code, 0, "{ran}");
        world
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn worktree(&self) -> PathBuf {
        self.sandbox.root().join("app-feat-x")
    }

    /// Runs the hook in the agent's worktree, as claude does.
    fn hook(&self, record: &str) -> RunOutput {
        self.hook_of("claude", record)
    }

    fn hook_of(&self, cli: &str, record: &str) -> RunOutput {
        self.hook_in(&self.worktree(), cli, record)
    }

    fn hook_in(&self, dir: &Path, cli: &str, record: &str) -> RunOutput {
        let mut command = self.sandbox.command(PROGRAM);
        command.current_dir(dir).args(["hook", "--cli", cli]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(record.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The hook record of a tool event.
    fn record(&self, event: &str, tool: &str, input: &Value) -> String {
        let record = json!({
            "session_id": "s-1", "hook_event_name": event, "cwd": self.worktree(), "tool_name": tool,
            "tool_input": input,
        });
        record.to_string()
    }

    fn asks_to_run(&self, command: &str) -> RunOutput {
        self.hook(&self.record("PermissionRequest", "Bash", &json!({"command": command})))
    }

    /// The commands of the verdict log with their verdicts.
    fn verdicts(&self) -> Vec<(String, String)> {
        let listed = document(&self.paw(&["approvals", "--json"]));
        let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
        let rows = listed["verdicts"].as_array().unwrap().iter();
        rows.map(|row| (text(row, "command"), text(row, "verdict"))).collect()
    }

    fn tmux(&self, args: &[&str]) -> String {
        self.sandbox.tmux(args).stdout.trim_end().to_owned()
    }

    /// The agent's pane.
    fn pane(&self) -> String {
        let format = "#{@paw_agent} #{pane_id}";
        let listing = self.tmux(&["list-panes", "-s", "-t", "=paw-app:", "-F", format]);
        let pane = listing.lines().find_map(|line| line.strip_prefix("feat-x "));
        pane.unwrap_or_else(|| panic!("no pane: {listing}")).to_owned()
    }

    /// Types a prompt into the agent after its first prompt.
    fn submit(&self, prompt: &str) {
        wait_until("the agent got its first prompt", || (!self.agent.prompts().is_empty()).then_some(()));
        let before = self.agent.prompts().len();
        self.tmux(&["send-keys", "-t", &self.pane(), "-l", prompt]);
        self.tmux(&["send-keys", "-t", &self.pane(), "Enter"]);
        wait_until("the prompt was submitted", || (self.agent.prompts().len() > before).then_some(()));
    }

    fn has_event(&self, event: &str) -> bool {
        self.agent.events().iter().any(|found| found == event)
    }

    /// A field of all messages of one type, oldest first.
    fn messages(&self, kind: &str, field: &str) -> Vec<String> {
        let trail = fs::read_to_string(self.repo.root.join(".git-paw/broker.log")).unwrap_or_default();
        let messages = trail.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of_kind = messages.filter_map(|line| {
            let message = if line["message"].is_object() { line["message"].clone() } else { line };
            // Ignore messages about the supervisor.
            let about = message["type"] != "agent.status" || message["agent_id"] == "feat-x";
            (message["type"] == kind && about).then(|| message["payload"][field].clone())
        });
        let text = |value: Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        of_kind.filter_map(text).collect()
    }

    fn questions(&self) -> Vec<String> {
        self.messages("agent.question", "question")
    }

    /// The agent's states as the monitor reported them, oldest first.
    fn phases(&self) -> Vec<String> {
        self.messages("agent.status", "phase")
    }

    fn phase(&self) -> String {
        self.phases().pop().unwrap_or_default()
    }

    fn status_count(&self) -> usize {
        self.phases().len()
    }
}
