//! `git paw start --unattended`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use paw_testkit::{AgentLook, FakeAgent, RunOutput, Sandbox, TestRepo, git, wait_until};
use serde_json::Value;

use crate::interrupted::{EndlessGate, are_gone, terminate};
use crate::paw::{PROGRAM, document, paw};

/// A repository whose tests fail while a file `broken` exists, and a CLI that looks like claude.
struct World {
    sandbox: Sandbox,
    repo: TestRepo,
    agent: FakeAgent,
}

/// Lets commits in a worktree be reported in the name of its agent.
const OPEN: &str = "[broker]\nauth = \"none\"\n";
const GATE: &str = "[supervisor]\ntest_command = \"test ! -e broken || { echo it is broken; exit 1; }\"\n";

impl World {
    fn new() -> Self {
        Self::configured(&format!("{GATE}{OPEN}"))
    }

    fn configured(config: &str) -> Self {
        let sandbox = Sandbox::new();
        // A login shell would read this machine's profile and change PATH.
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
        sandbox.write("home/.config/git-paw/config.toml", config);
        Self { repo: sandbox.repo("app"), sandbox, agent }
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    /// Starts a session of agents on these branches without waiting for it.
    fn start(&self, branches: &str, more: &[&str]) -> Running {
        let args = ["start", "--unattended", "--json", "--cli", "claude", "--branches", branches];
        self.spawn(&[&args, more].concat())
    }

    fn spawn(&self, args: &[&str]) -> Running {
        let mut command = self.sandbox.command(PROGRAM);
        command.args(args).current_dir(&self.repo.root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(Some(command.spawn().unwrap()))
    }

    fn worktree(&self, branch: &str) -> PathBuf {
        self.sandbox.root().join(format!("app-{}", branch.replace('/', "-")))
    }

    /// Waits until the agent has received its first prompt.
    fn is_briefed(&self) {
        wait_until("the agent got its first prompt", || (!self.agent.prompts().is_empty()).then_some(()));
    }

    fn commit(&self, branch: &str, file: &str) -> String {
        let dir = self.worktree(branch);
        wait_until("the worktree exists", || dir.join("README.md").exists().then_some(()));
        fs::write(dir.join(file), "x\n").unwrap();
        self.commit_all(&dir, file)
    }

    fn commit_all(&self, dir: &Path, message: &str) -> String {
        // The commit hook reports the agent, as it does in a pane.
        let ran = self.sandbox.run(dir, "git", ["add", "--all"]);
        assert_eq!(ran.code, 0, "{ran}");
        let ran = self.sandbox.run(dir, "git", ["commit", "--quiet", "--message", message]);
        assert_eq!(ran.code, 0, "{ran}");
        git(dir, ["rev-parse", "HEAD"])
    }

    /// Types a prompt into the agent on `feat/x`.
    fn submit(&self, prompt: &str) {
        self.is_briefed();
        let before = self.agent.prompts().len();
        let listing =
            self.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", "#{@paw_agent} #{pane_id}"]);
        let pane = listing.stdout.lines().find_map(|line| line.strip_prefix("feat-x ")).unwrap().to_owned();
        self.sandbox.tmux(["send-keys", "-t", &pane, "-l", prompt]);
        self.sandbox.tmux(["send-keys", "-t", &pane, "Enter"]);
        wait_until("the prompt was submitted", || (self.agent.prompts().len() > before).then_some(()));
    }

    fn has_session(&self) -> bool {
        self.sandbox.tmux(["has-session", "-t", "=paw-app"]).code == 0
    }
}

/// The running command, killed on drop.
struct Running(Option<Child>);

impl Running {
    fn interrupt(&self) {
        let id = self.0.as_ref().unwrap().id().to_string();
        let kill = std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(kill.success());
    }

    /// Waits until it exits.
    fn finish(mut self) -> RunOutput {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn results(document: &Value) -> Vec<(String, String)> {
    let text = |agent: &Value, field: &str| agent[field].as_str().unwrap_or_default().to_owned();
    let agents = document["agents"].as_array().unwrap().iter();
    agents.map(|agent| (text(agent, "branch"), text(agent, "result"))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(branch, result)| ((*branch).to_owned(), (*result).to_owned())).collect()
}

#[test]
fn unattended_verifies_the_commits_of_an_idle_agent_and_keeps_the_session() {
    let world = World::new();
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    let commit = world.commit("feat/x", "work.txt");
    let ran = running.finish();
    assert_eq!(ran.code, 0, "{ran}");
    let summary = document(&ran);
    assert_eq!(results(&summary), pairs(&[("feat/x", "verified")]));
    assert_eq!((&summary["agents"][0]["commit"], &summary["good"]), (&commit.into(), &true.into()), "{ran}");
    assert!(ran.stderr.contains("feat/x: verified"), "progress is on stderr\n{ran}");
    assert!(world.has_session());
    assert_eq!(world.repo.git(["rev-list", "--count", "main"]), "1", "nothing was merged");
}

#[test]
fn unattended_notices_a_commit_without_a_message() {
    let world = World::configured(GATE);
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    world.commit("feat/x", "work.txt");
    let ran = running.finish();
    assert_eq!((ran.code, results(&document(&ran))), (0, pairs(&[("feat/x", "verified")])), "{ran}");
}

#[test]
fn unattended_sends_failures_to_the_agent_and_lets_it_try_again() {
    let world = World::new();
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    world.commit("feat/x", "broken");
    let prompt = wait_until("the prompt arrives", || world.agent.prompts().get(1).cloned());
    assert!(prompt.contains("[testing]") && prompt.contains("it is broken"), "{prompt}");
    let dir = world.worktree("feat/x");
    fs::remove_file(dir.join("broken")).unwrap();
    world.commit_all(&dir, "mended");
    let ran = running.finish();
    assert_eq!((ran.code, results(&document(&ran))), (0, pairs(&[("feat/x", "verified")])), "{ran}");
    let feedback = fs::read_to_string(world.repo.root.join(".git-paw/broker.log")).unwrap();
    assert!(feedback.contains("agent.feedback") && feedback.contains("agent.verified"), "{feedback}");
}

#[test]
fn unattended_fails_an_agent_without_attempts_left() {
    let world = World::new();
    let running = world.start("feat/x", &["--chances", "0"]);
    world.is_briefed();
    world.commit("feat/x", "broken");
    let ran = running.finish();
    let summary = document(&ran);
    assert_eq!((ran.code, results(&summary)), (1, pairs(&[("feat/x", "failed")])), "{ran}");
    assert!(summary["agents"][0]["errors"][0].as_str().unwrap().starts_with("[testing]"), "{ran}");
    assert_eq!(world.agent.prompts().len(), 1, "an agent without attempts left gets no prompt");
}

#[test]
fn unattended_approves_safe_commands_and_parks_others() {
    let world = World::new();
    let running = world.start("feat/x", &[]);
    world.submit("[[bash:git status ; bash:git push --force ; say:finished]]");
    let ran = running.finish();
    let summary = document(&ran);
    assert_eq!((ran.code, results(&summary)), (1, pairs(&[("feat/x", "parked")])), "{ran}");
    assert!(summary["agents"][0]["detail"].as_str().unwrap().contains("git push --force"), "{ran}");
    let events = world.agent.events();
    assert!(events.contains(&"allowed git status".to_owned()), "{events:?}");
    assert_eq!(events.last().unwrap(), "asked git push --force", "{events:?}");
}

#[test]
fn unattended_merges_verified_work_with_merge() {
    let world = World::new();
    let running = world.start("feat/x,feat/y", &["--merge"]);
    world.is_briefed();
    for (branch, file) in [("feat/x", "x.txt"), ("feat/y", "y.txt")] {
        world.commit(branch, file);
    }
    let ran = running.finish();
    let summary = document(&ran);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(results(&summary), pairs(&[("feat/x", "merged"), ("feat/y", "merged")]), "{ran}");
    assert_eq!(summary["merge"]["complete"], true, "{ran}");
    let files = world.repo.git(["ls-tree", "--name-only", "main"]);
    assert!(files.contains("x.txt") && files.contains("y.txt"), "{files}");
}

#[test]
fn unattended_reports_the_agents_even_if_the_merge_fails() {
    let world = World::new();
    world.repo.write(".git/paw/merge.json", "{half");
    let running = world.start("feat/x", &["--merge"]);
    world.is_briefed();
    world.commit("feat/x", "x.txt");
    let ran = running.finish();
    let summary = document(&ran);
    assert_eq!((ran.code, results(&summary)), (1, pairs(&[("feat/x", "verified")])), "{ran}");
    assert!(summary["merge_error"].as_str().unwrap().contains("merge.json"), "{ran}");
}

#[test]
fn unattended_reports_unfinished_agents_at_the_time_limit() {
    let world = World::new();
    let running = world.start("feat/x", &["--time-limit", "6s"]);
    world.submit("[[wait]]");
    let ran = running.finish();
    let summary = document(&ran);
    assert_eq!((ran.code, summary["end"].as_str()), (3, Some("time_over")), "{ran}");
    assert_eq!(results(&summary), pairs(&[("feat/x", "unfinished")]), "{ran}");
    assert!(world.has_session());
}

#[test]
fn unattended_can_be_interrupted_and_run_again() {
    let world = World::new();
    let args = ["start", "--unattended", "--cli", "claude", "--branches", "feat/x"];
    let running = world.spawn(&args);
    world.is_briefed();
    running.interrupt();
    let ran = running.finish();
    assert_eq!(ran.code, 130, "{ran}");
    assert!(ran.stderr.contains("keep watching it with 'git paw start --unattended'"), "{ran}");
    assert!(world.has_session());
    let running = world.spawn(&["start", "--unattended", "--json"]);
    world.commit("feat/x", "work.txt");
    let ran = running.finish();
    assert_eq!((ran.code, results(&document(&ran))), (0, pairs(&[("feat/x", "verified")])), "{ran}");
    assert!(!ran.stderr.contains("flags for a new session are ignored"), "{ran}");
}

#[test]
fn unattended_kills_running_gates_on_a_signal() {
    let world = World::configured(&format!("[supervisor]\ntest_command = \"endless\"\n{OPEN}"));
    let gate = EndlessGate::install(&world.sandbox);
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    world.commit("feat/x", "work.txt");
    let pids = gate.wait();
    terminate(running.0.as_ref().unwrap());
    let ran = running.finish();
    are_gone(&pids);
    let summary = document(&ran);
    assert_eq!((ran.code, summary["end"].as_str()), (130, Some("interrupted")), "{ran}");
    assert_eq!(results(&summary), pairs(&[("feat/x", "unfinished")]), "{ran}");
    world.sandbox.write("home/.config/git-paw/config.toml", &format!("{GATE}{OPEN}"));
    let ran = world.spawn(&["start", "--unattended", "--json"]).finish();
    assert_eq!((ran.code, results(&document(&ran))), (0, pairs(&[("feat/x", "verified")])), "{ran}");
}

#[test]
fn unattended_reports_nothing_for_a_cli_that_exits_without_commits() {
    let world = World::new();
    let running = world.start("feat/x", &[]);
    world.submit("[[die]]");
    let ran = running.finish();
    assert_eq!((ran.code, results(&document(&ran))), (1, pairs(&[("feat/x", "nothing")])), "{ran}");
}

#[test]
fn unattended_stops_when_the_session_is_stopped() {
    let world = World::new();
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    let stopped = world.paw(&["stop", "--force"]);
    assert_eq!(stopped.code, 0, "{stopped}");
    let ran = running.finish();
    assert_eq!((ran.code, document(&ran)["end"].as_str()), (1, Some("session_gone")), "{ran}");
}

#[test]
fn unattended_requires_a_gate() {
    let world = World::configured("");
    let ran = world.start("feat/x", &[]).finish();
    assert_eq!(ran.code, 2, "{ran}");
    assert!(document(&ran)["error"]["message"].as_str().unwrap().contains("no gate is configured"), "{ran}");
    assert!(!world.has_session() && !world.worktree("feat/x").exists());
}

#[test]
fn unattended_requires_approved_gates_at_the_start() {
    let world = World::configured(OPEN);
    world.repo.write(".git-paw/config.toml", GATE);
    let ran = world.start("feat/x", &[]).finish();
    assert_eq!(ran.code, 2, "{ran}");
    assert!(document(&ran)["error"]["hints"][0].as_str().unwrap().contains("--trust"), "{ran}");
    assert!(!world.has_session() && !world.worktree("feat/x").exists());
    let running = world.start("feat/x", &["--trust"]);
    world.is_briefed();
    world.commit("feat/x", "work.txt");
    assert_eq!(running.finish().code, 0);
}

#[test]
fn unattended_flags_require_unattended_and_exclude_supervisor() {
    let world = World::new();
    for args in [["start", "--merge"].as_slice(), &["start", "--time-limit", "4h"], &["start", "--json"]] {
        let ran = world.paw(args);
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code == 2 && output.contains("--unattended"), "{ran}");
    }
    let ran = world.paw(&["start", "--unattended", "--supervisor"]);
    assert!(ran.code == 2 && ran.stderr.contains("--supervisor"), "{ran}");
    let ran = world.paw(&["start", "--unattended", "--time-limit", "soon"]);
    assert!(ran.code == 2 && ran.stderr.contains("90m"), "{ran}");
    assert!(!world.has_session());
}

#[test]
fn a_recovered_unattended_session_keeps_agents_on_their_branches() {
    let world = World::new();
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    running.interrupt();
    running.finish();
    world.sandbox.tmux(["kill-server"]);
    wait_until("the tmux server is gone", || (!world.has_session()).then_some(()));
    let ran = world.paw(&["start"]);
    assert_eq!(ran.code, 0, "{ran}");
    let added = world.paw(&["add", "feat/y"]);
    assert_eq!(added.code, 0, "{added}");
    for branch in ["feat/x", "feat/y"] {
        let dir = world.worktree(branch);
        let ran =
            world.sandbox.run(&dir, "git", ["switch", "--quiet", "--create", &format!("other/{branch}")]);
        assert_eq!(ran.code, 0, "{ran}");
        let ran =
            world.sandbox.run(&dir, "git", ["commit", "--quiet", "--allow-empty", "--message", "astray"]);
        assert!(ran.code != 0 && ran.stderr.contains(branch), "{ran}");
    }
}

#[test]
fn an_agent_added_to_an_unattended_session_starts_like_the_others() {
    let world = World::new();
    world.sandbox.install_agent("codex", AgentLook::Claude, "");
    let running = world.start("feat/x", &[]);
    world.is_briefed();
    running.interrupt();
    running.finish();
    let ran = world.paw(&["add", "feat/y", "--cli", "codex"]);
    assert_eq!(ran.code, 0, "{ran}");
    let file = world.sandbox.home().join(".local/share/git-paw/sessions/paw-app.json");
    let receipt: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let command = receipt["worktrees"][1]["command"].as_str().unwrap();
    assert!(command.contains("workspace-write"), "{command}");
}
