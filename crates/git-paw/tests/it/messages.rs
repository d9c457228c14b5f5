//! `git paw serve`, `say`, `inbox` and `dashboard`: agents that talk, with a broker and without.

use std::fs;
use std::process::{Child, Stdio};

use paw_testkit::{Ran, Sandbox, Terminal, TestRepo, wait_until};
use serde_json::{Value, json};

use crate::paw::{PROGRAM, document, paw};

/// A repository with two agents' worktrees, and a broker that ends with the test.
struct Team {
    sandbox: Sandbox,
    repo: TestRepo,
    broker: Option<Child>,
}

impl Team {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file("shared.txt", "one\ntwo\nthree\nfour\nfive\n", "shared");
        for name in ["a", "b"] {
            let dir = sandbox.root().join(name);
            repo.git(["worktree", "add", "--quiet", "-b", &format!("feat/{name}"), dir.to_str().unwrap()]);
        }
        // Whatever else runs on this machine, a port is found; sandboxes do not share one.
        sandbox.write("home/.config/git-paw/config.toml", "[broker]\nport = 0\n");
        Self { sandbox, repo, broker: None }
    }

    fn serve(&mut self) {
        let mut command = self.sandbox.command(PROGRAM);
        command.arg("serve").current_dir(&self.repo.root).stdout(Stdio::null()).stderr(Stdio::null());
        self.broker = Some(command.spawn().unwrap());
        wait_until("the broker is there", || self.endpoint());
    }

    fn endpoint(&self) -> Option<Value> {
        let text = fs::read_to_string(self.repo.root.join(".git/paw/endpoint.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn stop(&mut self) {
        self.end_with("-TERM");
    }

    fn end_with(&mut self, signal: &str) {
        let mut broker = self.broker.take().unwrap();
        self.sandbox.run(&self.sandbox.root(), "kill", [signal, &broker.id().to_string()]);
        assert!(wait_until("the broker has ended", || broker.try_wait().unwrap()).success());
    }

    fn paw(&self, args: &[&str]) -> Ran {
        paw(&self.sandbox, &self.repo.root, args)
    }

    /// Everything that was ever said, as the audit trail has it.
    fn trail(&self) -> String {
        fs::read_to_string(self.repo.root.join(".git-paw/broker.log")).unwrap_or_default()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if let Some(mut broker) = self.broker.take() {
            let _ = broker.kill();
            let _ = broker.wait();
        }
    }
}

#[test]
fn without_any_session_nothing_can_be_said_and_the_error_says_so() {
    let team = Team::new();
    let ran = team.paw(&["say", "status", "working"]);
    assert!(ran.code == 1 && ran.stderr.contains("no session of this repository yet"), "{ran}");
}

#[test]
fn what_is_said_is_kept_across_a_restart_and_while_no_broker_runs() {
    let mut team = Team::new();
    team.serve();
    let first = document(&team.paw(&["say", "answer", "feat-a", "yes", "--json"]));
    assert_eq!(first["way"], "broker");
    team.stop();
    let second = document(&team.paw(&["say", "answer", "feat-a", "no", "--json"]));
    assert_eq!(second["way"], "log");
    assert!(second["seq"].as_u64() > first["seq"].as_u64());
    team.serve();
    let third = document(&team.paw(&["say", "answer", "feat-a", "perhaps", "--json"]));
    assert!(third["seq"].as_u64() > second["seq"].as_u64(), "numbers never start again");
    wait_until("the trail has all three", || {
        let trail = team.trail();
        ["yes", "no", "perhaps"].iter().all(|word| trail.contains(&format!("\"{word}\""))).then_some(())
    });
}

#[test]
fn an_agent_without_its_token_is_refused() {
    let mut team = Team::new();
    team.serve();
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    let ran = team.paw(&["say", "status", "working"]);
    assert_eq!(ran.code, 1, "{ran}");
    team.sandbox.set("GIT_PAW_BROKER_TOKEN", "guessed");
    assert_eq!(team.paw(&["say", "verified", "feat-b"]).code, 1);
    assert!(!team.trail().contains("agent.verified"));
}

#[test]
fn two_agents_that_edit_the_same_lines_are_warned() {
    let mut team = Team::new();
    team.serve();
    for (name, text) in
        [("a", "one\nTWO of a\nthree\nfour\nfive\n"), ("b", "one\nTWO of b\nthree\nfour\nfive\n")]
    {
        fs::write(team.sandbox.root().join(name).join("shared.txt"), text).unwrap();
    }
    let warning = wait_until("both are warned", || {
        let trail = team.trail();
        let warned = |agent: &str| {
            trail.lines().any(|line| {
                line.contains("[conflict-detector]")
                    && line.contains("shared.txt")
                    && line.contains(&format!("\"agent_id\":\"{agent}\""))
            })
        };
        (warned("feat-a") && warned("feat-b")).then_some(trail)
    });
    assert!(warning.contains("agent.feedback"), "{warning}");
}

#[test]
fn an_inbox_shows_what_feedback_says_and_nothing_that_a_terminal_obeys() {
    let mut team = Team::new();
    team.serve();
    let said =
        team.paw(&["say", "feedback", "operator", "the tests of parse.rs fail", "\u{1b}]0;gotcha\u{7}"]);
    assert_eq!(said.code, 0, "{said}");
    let shown = team.paw(&["inbox"]);
    assert!(shown.stdout.contains("       the tests of parse.rs fail\n"), "{shown}");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown}");
}

#[test]
fn an_inbox_of_nobody_is_empty_and_ends_where_it_began() {
    let mut team = Team::new();
    team.serve();
    let ran = team.paw(&["inbox", "--since", "7", "--json"]);
    assert_eq!(document(&ran)["messages"], json!([]), "{ran}");
    assert_eq!(document(&ran)["last_seq"], 7);
}

#[test]
fn a_repository_cannot_open_the_broker_to_everybody() {
    let mut team = Team::new();
    team.repo.write(".git-paw/config.toml", "[broker]\nauth = \"none\"\nbind = \"0.0.0.0\"\n");
    team.serve();
    assert!(team.endpoint().unwrap()["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    assert_eq!(team.paw(&["say", "status", "working"]).code, 1);
}

#[test]
fn a_second_broker_says_where_the_first_is() {
    let mut team = Team::new();
    team.serve();
    let ran = team.paw(&["serve"]);
    assert!(
        ran.code == 1
            && ran.stderr.contains("a broker of this repository is running already at http://127.0.0.1:"),
        "{ran}"
    );
}

#[test]
fn the_dashboard_shows_a_running_session_from_any_terminal() {
    let mut team = Team::new();
    assert!(team.paw(&["dashboard"]).stderr.contains("no broker is running here"));
    team.serve();
    team.paw(&["say", "question", "may I rename Token?"]);
    let mut terminal = Terminal::run(&team.sandbox, &team.repo.root, PROGRAM, &["dashboard"]);
    // A blank between two words may never be drawn.
    terminal.wait_for("rename");
    terminal.send("q");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(team.paw(&["inbox", "--json"]).code, 0, "the broker still runs");
}

#[test]
fn the_sessions_own_pane_runs_the_broker_and_the_screen() {
    let team = Team::new();
    let mut terminal = Terminal::run(&team.sandbox, &team.repo.root, PROGRAM, &["__dashboard"]);
    wait_until("the broker is there", || team.endpoint());
    terminal.wait_for("feat-a");
    terminal.send("q");
    terminal.wait_for("hidden");
    assert_eq!(team.paw(&["inbox", "--json"]).code, 0, "hiding the view leaves the broker");
    let pid = team.endpoint().unwrap()["pid"].to_string();
    team.sandbox.run(&team.sandbox.root(), "kill", [pid]);
    assert_eq!(terminal.finish(), 0);
    assert_eq!(team.endpoint(), None, "the endpoint goes with the broker");
}

#[test]
fn a_terminal_that_goes_away_ends_the_session_in_order() {
    let team = Team::new();
    let root = team.repo.root.to_str().unwrap();
    let made =
        team.sandbox.tmux(["new-session", "-d", "-x", "100", "-y", "30", "-c", root, PROGRAM, "__dashboard"]);
    assert_eq!(made.code, 0, "{made}");
    wait_until("the screen is drawn", || {
        let shown = team.sandbox.tmux(["capture-pane", "-p"]).stdout;
        (shown.contains("agents") && team.endpoint().is_some()).then_some(())
    });
    team.sandbox.tmux(["kill-server"]);
    wait_until("the endpoint is gone", || team.endpoint().is_none().then_some(()));
}

#[test]
fn ctrl_c_ends_a_broker_in_order() {
    let mut team = Team::new();
    team.serve();
    team.end_with("-INT");
    assert_eq!(team.endpoint(), None);
}

#[test]
fn a_token_of_another_session_is_explained_to_a_person() {
    let mut team = Team::new();
    team.serve();
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    team.sandbox.set("GIT_PAW_BROKER_TOKEN", "paw_of_yesterday");
    let ran = team.paw(&["say", "status", "working"]);
    insta::assert_snapshot!(ran, @r"
    exit 1
    --- stderr
    error: Session error: this session does not know you: the token in GIT_PAW_BROKER_TOKEN is of another session, or not whole
    hint: type it in the agent's own pane, or speak as yourself: unset GIT_PAW_AGENT_ID GIT_PAW_BROKER_TOKEN
    ");
}
