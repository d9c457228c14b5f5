//! `git paw merge`

use std::fs;
use std::process::Stdio;

use paw_broker::SessionId;
use paw_broker::log;
use paw_core::paths::PawDir;
use paw_core::{AgentReceipt, BranchName, Receipt, SessionName};
use paw_host::clock;
use paw_session::Receipts;
use paw_testkit::{RunOutput, Sandbox, Terminal, TestRepo, git, wait_until};
use serde_json::{Value, json};

use crate::paw::{PROGRAM, document, paw};
use crate::verify::Broker;

/// A repository whose tests fail while a file `broken` exists, and a session of two agents with commits.
struct Team {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl Team {
    fn new() -> Self {
        let team = Self::without_session();
        let mut receipt =
            Receipt::new(SessionName::new("paw-app").unwrap(), team.repo.root.clone(), "app", clock::now());
        for agent in ["a", "b"] {
            let branch = BranchName::new(format!("feat/{agent}")).unwrap();
            receipt.worktrees.push(AgentReceipt::new(branch, team.worktree(agent), "claude"));
        }
        let receipts = Receipts::at(team.sandbox.home().join(".local/share/git-paw/sessions"));
        receipts.save(&receipt, &receipts.lock().unwrap()).unwrap();
        let log = PawDir::of(&team.repo.root.join(".git")).log();
        let log = log::open(&log).unwrap();
        log.begin(&SessionId::new(&receipt.session_id()), clock::now()).unwrap();
        team
    }

    fn without_session() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        let config =
            "[broker]\nport = 0\nauth = \"none\"\n[supervisor]\ntest_command = \"test ! -e broken\"\n";
        sandbox.write("home/.config/git-paw/config.toml", config);
        let team = Self { sandbox, repo };
        for agent in ["a", "b"] {
            let (dir, branch) = (team.worktree(agent), format!("feat/{agent}"));
            team.repo.git(["worktree", "add", "--quiet", "-b", &branch, dir.to_str().unwrap()]);
            team.commit(agent, &format!("{agent}.txt"));
        }
        team
    }

    fn worktree(&self, agent: &str) -> std::path::PathBuf {
        self.sandbox.root().join(format!("app-feat-{agent}"))
    }

    fn commit(&self, agent: &str, path: &str) -> String {
        let dir = self.worktree(agent);
        fs::write(dir.join(path), "x\n").unwrap();
        git(&dir, ["add", "--all"]);
        git(&dir, ["commit", "--quiet", "--message", path]);
        git(&dir, ["rev-parse", "HEAD"])
    }

    fn tip(&self, branch: &str) -> String {
        self.repo.git(["rev-parse", &format!("refs/heads/{branch}")])
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn merge(&self, args: &[&str]) -> Value {
        document(&self.paw(&[&["merge", "--json"], args].concat()))
    }

    fn verify(&self, agents: &[&str]) {
        for agent in agents {
            let tip = self.tip(&format!("feat/{agent}"));
            let ran = self.paw(&["say", "verified", &format!("feat-{agent}"), "--commit", &tip]);
            assert_eq!(ran.code, 0, "{ran}");
        }
    }

    /// The messages in an agent's inbox.
    fn inbox(&mut self, agent: &str) -> Vec<Value> {
        self.sandbox.set("GIT_PAW_AGENT_ID", agent);
        let inbox = document(&self.paw(&["inbox", "--json"]));
        inbox["messages"].as_array().unwrap().iter().map(|stored| stored["message"].clone()).collect()
    }
}

fn outcomes(document: &Value) -> Vec<(&str, &str)> {
    let branches = document["branches"].as_array().unwrap_or_else(|| panic!("{document}"));
    branches
        .iter()
        .filter_map(|branch| Some((branch["branch"].as_str()?, branch["outcome"].as_str()?)))
        .collect()
}

#[test]
fn merge_merges_a_verified_session_in_order_and_publishes_it() {
    let mut team = Team::new();
    team.verify(&["a", "b"]);
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    assert_eq!(team.paw(&["say", "blocked", "the api", "--from", "feat-b"]).code, 0);
    // A supervisor's merge is run by the session's process.
    team.sandbox.unset("GIT_PAW_AGENT_ID");
    let _broker = Broker::serve(&team.sandbox, &team.repo);
    team.sandbox.set("GIT_PAW_AGENT_ID", "supervisor");
    let ran = team.paw(&["merge", "--rebase", "--json"]);
    let merged = document(&ran);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(outcomes(&merged), [("feat/b", "merged"), ("feat/a", "merged")]);
    assert_eq!(
        (merged["complete"].clone(), merged["after"].as_str()),
        (json!(true), Some(&*team.tip("main")))
    );
    assert_eq!(team.tip("main"), team.tip("feat/a"));
    assert!(team.repo.root.join("a.txt").exists() && team.repo.root.join("b.txt").exists());
    let messages = team.inbox("feat-b");
    let types: Vec<_> = messages.iter().filter(|message| message["type"] == "agent.advanced-main").collect();
    assert_eq!(types.len(), 2, "{messages:?}");
}

#[test]
fn merge_refuses_unverified_branches_unless_they_are_named() {
    let team = Team::new();
    team.verify(&["a", "b"]);
    team.commit("b", "more.txt");
    let before = team.tip("main");
    let ran = team.paw(&["merge"]);
    assert!(ran.code == 1 && ran.stderr.contains("not verified at the current tip: feat/b"), "{ran}");
    assert!(ran.stderr.contains("git paw verify feat/b"), "{ran}");
    assert_eq!(team.tip("main"), before);
    assert_eq!(outcomes(&team.merge(&["feat/b"])), [("feat/b", "merged")]);
    assert_eq!(team.tip("main"), team.tip("feat/b"));
}

#[test]
fn merge_asks_on_a_terminal_about_unverified_branches() {
    let team = Team::new();
    let before = team.tip("main");
    for (answer, code) in [("n\r", 2), ("y\r", 1)] {
        let mut terminal = Terminal::run(&team.sandbox, &team.repo.root, PROGRAM, &["merge"]);
        terminal.wait_for("verified");
        terminal.wait_for("(y/N)");
        assert_eq!(team.tip("main"), before);
        terminal.send(answer);
        assert_eq!(terminal.finish(), code);
    }
    assert_eq!(team.tip("main"), team.tip("feat/a"), "b has diverged");
}

#[test]
fn merge_keeps_a_regression_out_of_main_and_reports_it() {
    let mut team = Team::new();
    team.commit("a", "broken");
    team.verify(&["a", "b"]);
    let ran = team.paw(&["merge", "--json"]);
    let merged = document(&ran);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(outcomes(&merged), [("feat/a", "regression"), ("feat/b", "merged")]);
    assert_eq!(team.tip("main"), team.tip("feat/b"));
    let rescue = merged["branches"][0]["rescue"].as_str().unwrap();
    let kept = team.paw(&["undo", "--json"]);
    assert!(kept.stdout.contains(rescue), "{rescue}\n{kept}");
    let feedback = team.inbox("feat-a");
    let errors = feedback.iter().find(|message| message["type"] == "agent.feedback").unwrap();
    let first = errors["payload"]["errors"][0].as_str().unwrap();
    assert!(first.starts_with("[regression] feat/a was not merged"), "{first}");
    assert_eq!(errors["payload"]["errors"][1], "[regression] `test ! -e broken` exited with code 1");
}

#[test]
fn merge_dry_run_shows_the_order_and_changes_nothing() {
    let team = Team::new();
    team.verify(&["a"]);
    let before = team.tip("main");
    let ran = team.paw(&["merge", "--dry-run"]);
    insta::assert_snapshot!(ran, @r"
    exit 0
    --- stdout
    BRANCH  VERIFIED  PLAN            
    feat/a  by hand   fast forwarded  if its tests pass
    feat/b  no        skipped         diverged: needs a rebase
    ");
    let shown = team.merge(&["--dry-run", "--rebase"]);
    assert_eq!((&shown["dry_run"], &shown["branches"][1]["move"]), (&json!(true), &json!("rebased")));
    assert_eq!(team.tip("main"), before);
}

#[test]
fn merge_prints_a_table_of_results() {
    let team = Team::new();
    team.verify(&["a", "b"]);
    let ran = team.paw(&["merge"]);
    let at = &team.tip("main")[..10];
    let shown = ran.to_string().replace(at, "[COMMIT]");
    insta::assert_snapshot!(shown, @r"
    exit 1
    --- stdout
    BRANCH  RESULT   
    feat/a  merged   tested, now at [COMMIT]
    feat/b  skipped  diverged: needs a rebase
    main is now at [COMMIT]
    --- stderr
    hint: rebase diverged branches onto main with 'git paw merge --rebase'
    ");
}

#[test]
fn merge_without_a_session_requires_branch_names() {
    let team = Team::without_session();
    let ran = team.paw(&["merge", "--json"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(document(&ran)["error"]["hints"][0].as_str().unwrap().contains("--only feat/a,feat/b"), "{ran}");
    let merged = team.merge(&["--only", "feat/a,feat/b", "--rebase"]);
    assert_eq!(outcomes(&merged), [("feat/a", "merged"), ("feat/b", "merged")]);
    for name in ["gone", "main"] {
        assert_eq!(team.paw(&["merge", "--only", name]).code, 1, "{name}");
    }
}

#[test]
fn merge_runs_the_repositorys_tests_only_after_the_user_approved_them() {
    let mut team = Team::new();
    team.repo
        .write(".git-paw/config.toml", "[supervisor]\ntest_command = \"touch ran && test ! -e broken\"\n");
    let before = team.tip("main");
    let ran = team.paw(&["merge", "--only", "feat/a"]);
    assert!(ran.code == 1 && ran.stderr.contains("touch ran") && ran.stderr.contains("--trust"), "{ran}");
    team.sandbox.set("GIT_PAW_AGENT_ID", "supervisor");
    let ran = team.paw(&["merge", "--only", "feat/a", "--trust"]);
    assert!(ran.code == 1 && ran.stderr.contains("an agent cannot approve"), "{ran}");
    assert_eq!(team.tip("main"), before);
    let mut command = team.sandbox.command(PROGRAM);
    command
        .args(["merge", "--only", "feat/a", "--trust"])
        .env_remove("GIT_PAW_AGENT_ID")
        .current_dir(&team.repo.root);
    assert!(command.output().unwrap().status.success());
    assert_eq!(team.tip("main"), team.tip("feat/a"));
}

#[test]
fn merge_refuses_to_run_for_an_agent() {
    let mut team = Team::new();
    team.verify(&["a", "b"]);
    let before = team.tip("main");
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    let ran = team.paw(&["merge", "--only", "feat/a"]);
    assert!(ran.code == 1 && ran.stderr.contains("agent 'feat-a' is not allowed to merge"), "{ran}");
    assert_eq!(team.tip("main"), before);
}

#[test]
fn merge_tests_run_in_a_prepared_worktree_without_secrets() {
    let mut team = Team::without_session();
    let config = "[broker]\nport = 0\nauth = \"none\"\n[worktree]\nsetup_commands = [\"touch made-ready\"]\n\
        [supervisor]\ntest_command = \"test -e made-ready && test -z \\\"$SECRET\\\"\"\n";
    team.sandbox.write("home/.config/git-paw/config.toml", config);
    team.sandbox.set("SECRET", "hunter2");
    let merged = team.merge(&["--only", "feat/a,feat/b", "--rebase"]);
    assert_eq!(outcomes(&merged), [("feat/a", "merged"), ("feat/b", "merged")]);
}

#[test]
fn merge_stops_if_the_setup_fails_and_main_stays() {
    let team = Team::without_session();
    let config = "[broker]\nport = 0\n[worktree]\nsetup_commands = [\"false\"]\n[supervisor]\ntest_command = \"true\"\n";
    team.sandbox.write("home/.config/git-paw/config.toml", config);
    let before = team.tip("main");
    let ran = team.paw(&["merge", "--only", "feat/a"]);
    assert!(ran.code == 1 && ran.stderr.contains("cannot prepare the checkout"), "{ran}");
    assert_eq!(team.tip("main"), before);
}

#[test]
fn merge_without_tests_merges_only_verified_branches() {
    let team = Team::new();
    team.sandbox.write("home/.config/git-paw/config.toml", "[broker]\nport = 0\nauth = \"none\"\n");
    let merged = team.merge(&["--only", "feat/a"]);
    assert_eq!(outcomes(&merged), [("feat/a", "skipped")]);
    assert!(merged["branches"][0]["detail"].as_str().unwrap().contains("test_command"), "{merged}");
    team.verify(&["a"]);
    let merged = team.merge(&["--only", "feat/a"]);
    assert_eq!(
        (outcomes(&merged), &merged["branches"][0]["ground"]),
        (vec![("feat/a", "merged")], &json!("verified"))
    );
}

#[test]
fn merge_accepts_a_branch_verified_by_git_paw_verify() {
    let team = Team::new();
    for branch in ["feat/a", "feat/b"] {
        let ran = team.paw(&["verify", branch]);
        assert_eq!(ran.code, 0, "{ran}");
    }
    assert_eq!(outcomes(&team.merge(&["--rebase"])), [("feat/a", "merged"), ("feat/b", "merged")]);
}

#[test]
fn merge_works_on_the_users_terminal_in_an_agents_worktree() {
    let team = Team::new();
    team.verify(&["a", "b"]);
    let terminal = Terminal::run(&team.sandbox, &team.worktree("a"), PROGRAM, &["merge", "--only", "feat/a"]);
    assert_eq!(terminal.finish(), 0);
    assert_eq!(team.tip("main"), team.tip("feat/a"));
}

#[test]
fn a_merge_killed_during_tests_leaves_main_and_resumes() {
    let team = Team::new();
    team.verify(&["a", "b"]);
    let root = team.sandbox.root();
    let tests = format!("echo $$ > {0}/started; test -e {0}/go || sleep 600", root.display());
    // In a sandbox the tests do not know their process id.
    let config = format!(
        "[broker]\nport = 0\nauth = \"none\"\n[sandbox]\nruns = \"off\"\n[supervisor]\ntest_command = {tests:?}\n"
    );
    team.sandbox.write("home/.config/git-paw/config.toml", &config);
    let before = team.tip("main");
    let mut command = team.sandbox.command(PROGRAM);
    command.arg("merge").current_dir(&team.repo.root).stdout(Stdio::null()).stderr(Stdio::null());
    let mut merge = command.spawn().unwrap();
    let pid = wait_until("tests run", || {
        fs::read_to_string(root.join("started")).ok().filter(|pid| !pid.is_empty())
    });
    merge.kill().unwrap();
    merge.wait().unwrap();
    assert_eq!(team.tip("main"), before);
    fs::write(root.join("go"), "").unwrap();
    let merged = team.merge(&["--rebase"]);
    assert_eq!(outcomes(&merged), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert_eq!(merged["resumed"], json!(true));
    wait_until("the test processes of the killed merge are gone", || {
        (!fs::exists(format!("/proc/{}", pid.trim())).unwrap()).then_some(())
    });
}
