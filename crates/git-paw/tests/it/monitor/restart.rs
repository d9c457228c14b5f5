//! What a monitor says that was started after another one had been killed.

use std::fs;
use std::path::Path;

use paw_testkit::wait_until;
use serde_json::json;

use super::World;
use crate::paw::document;

impl World {
    /// Kills what runs in the agent's pane, without a chance to tell anyone.
    fn kill_cli(&self) {
        let shell = self.tmux(&["display-message", "-p", "-t", &self.pane(), "#{pane_pid}"]);
        let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        assert!(!children.trim().is_empty(), "no CLI runs in the pane");
        for child in children.split_whitespace() {
            self.sandbox.run(&self.sandbox.root(), "kill", ["-9", child]);
        }
    }

    /// Kills the session's process and waits until the dashboard has started another one.
    fn kill_session_process(&self) {
        let endpoint = self.repo.root.join(".git/paw/endpoint.json");
        let pid = wait_until("the session's process is running", || process_of(&endpoint));
        self.sandbox.run(&self.sandbox.root(), "kill", ["-9", &pid.to_string()]);
        wait_until("another process is running", || process_of(&endpoint).filter(|next| *next != pid));
    }

    fn exits_seen(&self) -> usize {
        self.phases().iter().filter(|phase| *phase == "exited").count()
    }

    /// Kills the CLI and then the session's process, twice. No monitor may take the dead CLI for a running one.
    fn assert_one_exit(&self) {
        self.kill_cli();
        wait_until("the exit is seen", || (self.exits_seen() == 1).then_some(()));
        let before = self.status_count();
        for seen in 2..4 {
            self.kill_session_process();
            wait_until("the new monitor sees it, too", || (self.exits_seen() == seen).then_some(()));
        }
        assert_eq!(self.phases()[before..], ["exited", "exited"]);
        let words = self.messages("agent.status", "status");
        assert_eq!(words[words.len() - 2..], ["idle", "idle"]);
        assert_eq!(document(&self.paw(&["explain", "feat-x", "--json"]))["state"], "exited");
        let report = document(&self.paw(&["report", "--json"]));
        assert_eq!(report["agents"]["feat-x"]["exits"], 1, "{report}");
    }
}

fn process_of(endpoint: &Path) -> Option<u64> {
    let text = fs::read_to_string(endpoint).ok()?;
    serde_json::from_str::<serde_json::Value>(&text).ok()?["pid"].as_u64()
}

#[test]
fn an_exit_counts_once_if_the_session_process_is_killed_after_it() {
    let world = World::supervised("");
    wait_until("the monitor sees it running", || (world.phase() == "idle").then_some(()));
    world.assert_one_exit();
}

#[test]
fn hook_notes_of_a_killed_cli_do_not_make_it_work_again() {
    let world = World::supervised("");
    wait_until("the monitor sees it running", || (world.phase() == "idle").then_some(()));
    for (event, of) in
        [("SessionStart", json!({"source": "startup"})), ("UserPromptSubmit", json!({"prompt": "go"}))]
    {
        let mut record = json!({"hook_event_name": event, "session_id": "s-1", "cwd": world.worktree()});
        record.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        assert_eq!(world.hook(&record.to_string()).code, 0);
    }
    wait_until("its hooks say that it works", || (world.phase() == "working").then_some(()));
    world.assert_one_exit();
}
