//! The supervisor's pane, watched by the monitor.

use std::fs;

use paw_testkit::{AgentLook, FakeAgent, Sandbox, TestRepo, wait_until};
use serde_json::Value;

use crate::paw::{document, paw};

struct World {
    sandbox: Sandbox,
    repo: TestRepo,
    supervisor: FakeAgent,
}

impl World {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        sandbox.install_program("worker", "#!/bin/sh\nexec sleep 600\n");
        let supervisor = sandbox.install_agent("claude", AgentLook::Claude, "");
        let config = "[clis.worker]\ncommand = \"worker\"\n[supervisor]\ncli = \"claude\"\n";
        sandbox.write("home/.config/git-paw/config.toml", config);
        let world = Self { repo: sandbox.repo("app"), sandbox, supervisor };
        let args = ["start", "--supervisor", "--cli", "worker", "--branches", "feat/x"];
        let ran = paw(&world.sandbox, &world.repo.root, &args);
        assert_eq!(ran.code, 0, "{ran}");
        wait_until("it was briefed", || (!world.supervisor.prompts().is_empty()).then_some(()));
        world
    }

    fn pane(&self, owner: &str) -> String {
        let format = "#{@paw_agent} #{pane_id}";
        let panes = self.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]).stdout;
        panes.lines().find_map(|line| line.strip_prefix(&format!("{owner} "))).unwrap().to_owned()
    }

    fn press_in(&self, owner: &str, keys: &[&str]) {
        self.sandbox.tmux([&["send-keys", "-t", &self.pane(owner)], keys].concat());
    }

    fn press(&self, keys: &[&str]) {
        self.press_in("supervisor", keys);
    }

    fn shown(&self, owner: &str) -> String {
        self.sandbox.tmux(["capture-pane", "-p", "-t", &self.pane(owner)]).stdout
    }

    fn submit(&self, prompt: &str) {
        let before = self.supervisor.prompts().len();
        self.press(&["-l", prompt]);
        self.press(&["Enter"]);
        wait_until("it was submitted", || (self.supervisor.prompts().len() > before).then_some(()));
    }

    /// The messages of one type by or about the supervisor.
    fn said(&self, kind: &str) -> Vec<Value> {
        let trail = fs::read_to_string(self.repo.root.join(".git-paw/broker.log")).unwrap_or_default();
        let lines = trail.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let message = |line: Value| if line["message"].is_object() { line["message"].clone() } else { line };
        let of_it = |said: &Value| {
            said["type"] == kind
                && (said["agent_id"] == "supervisor" || said["payload"]["from"] == "supervisor")
        };
        lines.map(message).filter(of_it).collect()
    }

    fn phase(&self) -> String {
        let last = self.said("agent.status").pop().unwrap_or_default();
        last["payload"]["phase"].as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn the_supervisors_own_commands_are_approved_and_the_user_is_told_of_others() {
    let world = World::start();
    wait_until("it is seen to rest", || (world.phase() == "idle").then_some(()));
    world.submit("[[bash:git paw status ; say:finished]]");
    wait_until("its own command runs", || {
        world.supervisor.events().contains(&"allowed git paw status".to_owned()).then_some(())
    });
    wait_until("it is seen to rest again", || (world.phase() == "idle").then_some(()));
    world.submit("[[bash:touch made-up ; say:finished]]");
    wait_until("it is seen to wait", || (world.phase() == "waiting_approval").then_some(()));
    let told = wait_until("the user is told", || world.said("agent.feedback").pop());
    assert_eq!(told["agent_id"], "operator", "{told}");
    let text = told["payload"]["errors"][0].as_str().unwrap();
    assert!(text.starts_with("[approval] the supervisor wants: touch made-up (not approved"), "{text}");
    let status = document(&paw(&world.sandbox, &world.repo.root, &["status", "--json"]));
    assert_eq!(
        (&status["needs"][0]["agent_id"], &status["needs"][0]["kind"]),
        (&"supervisor".into(), &"approval".into())
    );
    // The supervisor never answers for itself; the user does, by command or in the dashboard.
    let denied = paw(&world.sandbox, &world.repo.root, &["deny", "supervisor"]);
    assert_eq!(denied.stdout, "denied for supervisor: touch made-up\n", "{denied}");
    wait_until("a denial is seen", || (world.phase() == "idle").then_some(()));
    assert!(world.supervisor.events().contains(&"denied touch made-up".to_owned()));
    world.submit("[[bash:touch other ; say:finished]]");
    wait_until("it is seen to wait", || (world.phase() == "waiting_approval").then_some(()));
    world.press_in("dashboard", &["n", "a"]);
    wait_until("the dashboard shows it", || {
        let shown = world.shown("dashboard");
        (shown.contains("supervisor (claude) wants") && shown.contains("touch other")).then_some(())
    });
    world.press_in("dashboard", &["a"]);
    wait_until("it was approved", || {
        world.supervisor.events().contains(&"allowed touch other".to_owned()).then_some(())
    });
    let ran = paw(&world.sandbox, &world.repo.root, &["approvals", "--json"]);
    let verdicts = document(&ran)["verdicts"].as_array().unwrap().clone();
    let of = |command: &str| {
        let rows = verdicts.iter().filter(|row| row["command"] == command);
        rows.map(|row| row["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("git paw status"), ["harmless here: git paw status"], "{ran}");
    assert_eq!(of("touch made-up").last().unwrap(), "denied by operator", "{ran}");
    assert_eq!(of("touch other").last().unwrap(), "approved by operator", "{ran}");
}

#[test]
fn a_supervisor_that_died_is_told_to_the_person() {
    let world = World::start();
    world.submit("[[die]]");
    let told = wait_until("the feedback is sent", || world.said("agent.feedback").pop());
    assert_eq!(told["agent_id"], "operator", "{told}");
    assert!(told["payload"]["errors"][0].as_str().unwrap().contains("its CLI exited"), "{told}");
}

#[test]
fn start_restores_a_supervisor_whose_pane_was_killed() {
    let world = World::start();
    let panes =
        |format: &str| world.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]).stdout;
    let before = panes("#{@paw_agent} #{pane_index} #{pane_width}x#{pane_height}");
    let ids = panes("#{@paw_agent} #{pane_id}");
    let pane = ids.lines().find_map(|line| line.strip_prefix("supervisor ")).unwrap();
    world.sandbox.tmux(["kill-pane", "-t", pane]);
    assert!(!panes("#{@paw_agent}").contains("supervisor"));
    let starts = || world.supervisor.events().iter().filter(|event| *event == "ready").count();
    let started = starts();
    let again = paw(&world.sandbox, &world.repo.root, &["start"]);
    assert!(again.stderr.contains("restoring supervisor: its pane was closed"), "{again}");
    assert_eq!(panes("#{@paw_agent} #{pane_index} #{pane_width}x#{pane_height}"), before);
    wait_until("it was started again", || (starts() > started).then_some(()));
}
