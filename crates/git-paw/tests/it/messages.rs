//! `git paw serve`, `say`, `inbox` and `dashboard`, with and without a broker.

use std::fs;
use std::process::{Child, Stdio};

use paw_broker::Bus;
use paw_broker::log;
use paw_core::paths::PawDir;
use paw_testkit::{RunOutput, Sandbox, Terminal, TestRepo, wait_until};
use serde_json::{Value, json};

use crate::lifecycle::World;
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
        // Finds a free port whatever else runs on this machine; sandboxes do not share one.
        sandbox.write("home/.config/git-paw/config.toml", "[broker]\nport = 0\n");
        Self { sandbox, repo, broker: None }
    }

    fn serve(&mut self) {
        self.serve_with(Stdio::null());
    }

    fn serve_with(&mut self, stderr: Stdio) {
        let mut command = self.sandbox.command(PROGRAM);
        command.arg("serve").current_dir(&self.repo.root).stdout(Stdio::null()).stderr(stderr);
        self.broker = Some(command.spawn().unwrap());
        wait_until("the broker is running", || self.endpoint());
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

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    /// The text of the audit trail.
    fn trail(&self) -> String {
        fs::read_to_string(self.repo.root.join(".git-paw/broker.log")).unwrap_or_default()
    }

    /// How many messages of the trail contain this text.
    fn count(&self, words: &str) -> usize {
        self.trail().lines().filter(|line| line.contains(words)).count()
    }

    fn write_shared(&self, tree: &str, second_line: &str) {
        let text = format!("one\n{second_line}\nthree\nfour\nfive\n");
        fs::write(self.sandbox.root().join(tree).join("shared.txt"), text).unwrap();
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
fn say_fails_without_a_session() {
    let team = Team::new();
    let ran = team.paw(&["say", "status", "working"]);
    assert!(ran.code == 1 && ran.stderr.contains("this repository has no session"), "{ran}");
}

#[test]
fn messages_survive_a_restart_and_are_stored_without_a_broker() {
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
    wait_until("the trail has all three messages", || {
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
fn serve_warns_two_agents_that_edit_the_same_lines() {
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
fn learnings_of_a_repository_name_its_conflicts_and_what_was_noticed() {
    let mut team = Team::new();
    let config = "[broker]\nport = 0\n[supervisor.learnings]\nenabled = true\n";
    team.sandbox.write("home/.config/git-paw/config.toml", config);
    team.serve();
    for tree in ["a", "b"] {
        team.write_shared(tree, &format!("TWO of {tree}"));
    }
    wait_until("both are warned", || (team.count("in-flight conflict") == 2).then_some(()));
    for _ in 0..2 {
        let noticed = ["say", "learning", "the tests need a database", "--category", "tooling-friction"];
        assert_eq!(team.paw(&noticed).code, 0);
    }
    team.stop();
    let learned = fs::read_to_string(team.repo.root.join(".git-paw/session-learnings.md")).unwrap();
    let lines: Vec<_> =
        learned.lines().filter(|line| line.starts_with("###") || line.starts_with('-')).collect();
    assert_eq!(
        lines,
        [
            "### Conflict events",
            "- in-flight-conflict: feat-a and feat-b in `shared.txt`",
            "### Tooling friction",
            "- the tests need a database (2 times)"
        ],
        "{learned}"
    );
}

#[test]
fn serve_clears_a_conflict_that_was_resolved_without_a_broker_and_repeats_no_warning() {
    let mut team = Team::new();
    team.serve();
    for tree in ["a", "b"] {
        team.write_shared(tree, &format!("TWO of {tree}"));
    }
    wait_until("both are warned", || (team.count("in-flight conflict") == 2).then_some(()));
    team.stop();
    team.write_shared("b", "two");
    team.serve();
    wait_until("both hear that it is over", || (team.count("resolved: shared.txt") == 2).then_some(()));
    team.stop();
    assert_eq!((team.count("in-flight conflict"), team.count("resolved: shared.txt")), (2, 2));
}

#[test]
fn serve_forgets_an_agent_whose_worktree_was_removed_without_a_broker() {
    let mut team = Team::new();
    team.sandbox.write("home/.config/git-paw/config.toml", "[broker]\nport = 0\nauth = \"none\"\n");
    team.serve();
    team.write_shared("a", "TWO of a");
    let seen = "\"modified_files\":[\"shared.txt\"]";
    wait_until("its work is seen", || (team.count(seen) == 1).then_some(()));
    team.stop();
    team.repo.git(["worktree", "remove", "--force", team.sandbox.root().join("a").to_str().unwrap()]);
    team.serve();
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-b");
    assert_eq!(team.paw(&["say", "intent", "shared.txt", "--summary", "mine now"]).code, 0);
    team.write_shared("b", "TWO of b");
    wait_until("the work of the other agent is reported", || (team.count(seen) == 2).then_some(()));
    team.stop();
    assert_eq!(team.count("[conflict-detector]"), 0, "{}", team.trail());
    let log = log::open(&PawDir::of(&team.repo.root.join(".git")).log()).unwrap();
    let session = log.current_session().unwrap().unwrap();
    let bus = Bus::open(log, session, false).unwrap();
    let known: Vec<String> = bus.records().iter().map(|record| record.agent_id.to_string()).collect();
    assert_eq!(known, ["feat-b"]);
}

#[test]
fn serve_does_not_write_the_audit_trail_through_a_link_and_loses_no_message() {
    let mut team = Team::new();
    let outside = team.sandbox.root().join("outside");
    fs::write(&outside, "mine\n").unwrap();
    fs::create_dir(team.repo.root.join(".git-paw")).unwrap();
    std::os::unix::fs::symlink(&outside, team.repo.root.join(".git-paw/broker.log")).unwrap();
    team.serve();
    assert_eq!(team.paw(&["say", "feedback", "operator", "the tests fail"]).code, 0);
    team.stop();
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine\n");
    assert!(team.paw(&["inbox"]).stdout.contains("the tests fail"));
}

#[test]
fn broker_whose_warnings_cannot_be_written_keeps_working() {
    let mut team = Team::new();
    let (outside, trail) = (team.sandbox.root().join("outside"), team.repo.root.join(".git-paw/broker.log"));
    fs::write(&outside, "").unwrap();
    fs::create_dir(team.repo.root.join(".git-paw")).unwrap();
    std::os::unix::fs::symlink(&outside, &trail).unwrap();
    // Every write to it fails like one on a full disk.
    team.serve_with(fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into());
    assert_eq!(team.paw(&["say", "feedback", "operator", "the tests fail"]).code, 0);
    fs::remove_file(&trail).unwrap();
    wait_until("the trail is written later", || (team.count("the tests fail") == 1).then_some(()));
}

#[test]
fn inbox_shows_feedback_without_terminal_codes() {
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
fn inbox_of_an_unknown_agent_is_empty() {
    let mut team = Team::new();
    team.serve();
    let ran = team.paw(&["inbox", "--since", "7", "--json"]);
    assert_eq!(document(&ran)["messages"], json!([]), "{ran}");
    assert_eq!(document(&ran)["last_seq"], 7);
}

#[test]
fn repository_configuration_cannot_expose_the_broker() {
    let mut team = Team::new();
    team.repo.write(".git-paw/config.toml", "[broker]\nauth = \"none\"\nbind = \"0.0.0.0\"\n");
    team.serve();
    assert!(team.endpoint().unwrap()["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    assert_eq!(team.paw(&["say", "status", "working"]).code, 1);
    team.stop();
    assert_eq!(team.paw(&["say", "status", "working"]).code, 1, "nor while none runs");
}

#[test]
fn a_second_serve_reports_the_address_of_the_first() {
    let mut team = Team::new();
    team.serve();
    let ran = team.paw(&["serve"]);
    assert!(
        ran.code == 1
            && ran.stderr.contains("a broker is already running for this repository at http://127.0.0.1:"),
        "{ran}"
    );
}

#[test]
fn dashboard_attaches_to_a_running_session() {
    let mut team = Team::new();
    assert!(team.paw(&["dashboard"]).stderr.contains("no broker is running for this repository"));
    team.serve();
    team.paw(&["say", "question", "may I rename Token?"]);
    let mut terminal = Terminal::run(&team.sandbox, &team.repo.root, PROGRAM, &["dashboard"]);
    // A blank between two words may not be drawn.
    terminal.wait_for("rename");
    terminal.send("q");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(team.paw(&["inbox", "--json"]).code, 0, "the broker still runs");
}

#[test]
fn dashboard_pane_hides_the_view_and_leaves_the_session_running() {
    let world = World::with_broker();
    let mut terminal = world.typed(&["__dashboard"]);
    terminal.wait_for("feat-a");
    terminal.send("q");
    terminal.wait_for("hidden");
    assert_eq!(world.paw(&["inbox", "--json"]).code, 0);
    assert_eq!(world.paw(&["stop", "--force"]).code, 0);
    terminal.wait_for("The session is stopped.");
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn ctrl_c_shuts_the_broker_down_cleanly() {
    let mut team = Team::new();
    team.serve();
    team.end_with("-INT");
    assert_eq!(team.endpoint(), None);
}

#[test]
fn say_with_a_token_of_another_session_fails_with_a_hint() {
    let mut team = Team::new();
    team.serve();
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    team.sandbox.set("GIT_PAW_BROKER_TOKEN", "paw_of_yesterday");
    let ran = team.paw(&["say", "status", "working"]);
    insta::assert_snapshot!(ran, @r"
    exit 1
    --- stderr
    error: the token in GIT_PAW_BROKER_TOKEN is not valid in this session
    hint: run the command in the pane that git paw started for the agent
    ");
}

#[test]
fn a_commit_in_an_agents_worktree_is_reported_once_even_if_its_cli_disables_hooks() {
    let world = World::with_broker();
    let tree = world.worktree("feat/a");
    let commit = |number: usize, options: &[&str]| {
        fs::write(tree.join("new.txt"), format!("{number}\n")).unwrap();
        assert_eq!(world.sandbox.run(&tree, "git", ["add", "new.txt"]).code, 0);
        let message = number.to_string();
        let args = [options, &["commit", "--quiet", "--message", &message]].concat();
        let ran = world.sandbox.run(&tree, "git", args);
        assert_eq!(ran.code, 0, "{ran}");
        let requests = || world.history().matches("supervisor.verify-now").count();
        wait_until("the commit is reported", || (requests() >= number).then_some(()));
        assert_eq!(requests(), number, "{}", world.history());
    };
    commit(1, &[]);
    commit(2, &["-c", "core.hooksPath="]);
    commit(3, &[]);
}

#[test]
fn tell_fails_in_a_session_without_a_broker() {
    let world = World::empty();
    let mut broker = world.sandbox.command(PROGRAM);
    broker.arg("serve").current_dir(&world.repo.root).stdout(Stdio::null()).stderr(Stdio::null());
    let mut broker = broker.spawn().unwrap();
    let endpoint = world.repo.root.join(".git/paw/endpoint.json");
    wait_until("the broker is running", || endpoint.exists().then_some(()));
    world.sandbox.run(&world.sandbox.root(), "kill", ["-INT", &broker.id().to_string()]);
    assert!(wait_until("the broker has ended", || broker.try_wait().unwrap()).success());
    let ran = world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b"]);
    assert_eq!(ran.code, 0, "{ran}");
    let ran = world.paw(&["tell", "feat-a", "--inbox", "use bcrypt"]);
    assert!(ran.code == 1 && ran.stderr.contains("this session has no broker"), "{ran}");
    assert!(!world.history().contains("bcrypt"), "the message is not stored");
}

#[test]
fn removing_an_agent_clears_the_conflict_warnings_about_it() {
    let world = World::with_broker();
    for branch in ["feat/a", "feat/b"] {
        fs::write(world.worktree(branch).join("README.md"), format!("of {branch}\n")).unwrap();
    }
    let said = |words: &str| world.history().matches(words).count();
    wait_until("both are warned", || (said("in-flight conflict") == 2).then_some(()));
    let ran = world.paw(&["remove", "feat/a", "--force"]);
    assert_eq!(ran.code, 0, "{ran}");
    wait_until("the agent is reported as gone", || (said("left the session") == 1).then_some(()));
    assert_eq!(said("README.md no longer conflicts with the work of feat-a"), 1, "{}", world.history());
    assert_eq!(said("no longer conflicts with the work of feat-b"), 0, "nobody is left to hear it");
}
