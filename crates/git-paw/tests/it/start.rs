//! `git paw start` on real repositories and a real tmux server.

mod delivery;
mod dry_run;
mod launch;
mod logs;
mod recover;
mod specs;
mod tasks;
mod trust;

use std::fs;

use paw_testkit::{RunOutput, Sandbox, TestRepo, wait_until};
use serde_json::Value;

use crate::paw::paw;

/// A sandbox with a repository and the CLI `agent`, whose panes start quickly.
struct World {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        let world = Self { sandbox, repo };
        // A login shell would read this machine's profile, which can change PATH.
        world.sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        world.sandbox.install_program(
            "agent",
            "#!/bin/sh\necho \"agent $GIT_PAW_AGENT_ID in $PWD\"\nexec sleep 600\n",
        );
        world.configure("");
        world
    }

    /// Writes the user's configuration: the CLI, and `more`.
    fn configure(&self, more: &str) {
        let text = format!("default_cli = \"agent\"\n{more}\n[clis.agent]\ncommand = \"agent\"\n");
        self.sandbox.write("home/.config/git-paw/config.toml", &text);
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    /// Runs `git paw start`, which must succeed.
    fn start(&self, args: &[&str]) -> RunOutput {
        let args: Vec<_> = ["start"].iter().chain(args).copied().collect();
        let ran = self.paw(&args);
        assert_eq!(ran.code, 0, "{ran}");
        ran
    }

    fn sessions(&self) -> Vec<String> {
        let listed = self.sandbox.tmux(["list-sessions", "-F", "#{session_name}"]);
        listed.stdout.lines().map(str::to_owned).collect()
    }

    fn panes(&self, session: &str, format: &str) -> Vec<String> {
        let listed = self.sandbox.tmux(["list-panes", "-t", &format!("={session}:"), "-F", format]);
        listed.stdout.lines().map(str::to_owned).collect()
    }

    /// Waits until the pane of `agent` shows `text`.
    fn wait_for(&self, session: &str, agent: &str, text: &str) {
        wait_until(&format!("{agent} shows {text:?}"), || {
            let panes = self.panes(session, "#{pane_id} #{@paw_agent}");
            let line = panes.iter().find(|line| line.ends_with(&format!(" {agent}")))?;
            let id = line.split(' ').next()?;
            let shown = self.sandbox.tmux(["capture-pane", "-p", "-t", id]).stdout.replace('\n', "");
            shown.contains(text).then_some(())
        });
    }

    fn receipt(&self, session: &str) -> Value {
        let file = self.sandbox.home().join(format!(".local/share/git-paw/sessions/{session}.json"));
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    fn worktrees(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.sandbox.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("app-"))
            .collect();
        names.sort();
        names
    }

    /// Asserts that there are no traces of a session.
    fn assert_nothing_started(&self) {
        assert_eq!(self.worktrees(), [""; 0]);
        assert_eq!(self.sessions(), [""; 0]);
        assert!(!self.sandbox.home().join(".local/share/git-paw/sessions").exists());
    }
}

#[test]
fn no_args_produces_same_error_as_start() {
    let sandbox = Sandbox::new();
    let bare = paw(&sandbox, &sandbox.root(), &[]);
    assert_eq!(bare, paw(&sandbox, &sandbox.root(), &["start"]));
    assert_eq!(bare.code, 1);
    assert!(bare.stderr.starts_with("error: Not a git repository"), "{bare}");
}

#[test]
fn start_from_non_git_directory() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["start"]);
    insta::assert_snapshot!(ran, @"
    exit 1
    --- stderr
    error: Not a git repository: git-paw works inside one
    hint: cd into a project, or run `git init` first
    ");
}

#[test]
fn start_without_git_says_how_to_install_it() {
    let sandbox = Sandbox::new();
    sandbox.uninstall_tool("git");
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["start"]), @"
    exit 1
    --- stderr
    error: git is not installed or not on PATH
    hint: brew install git   (macOS)
    hint: sudo apt install git   (Debian, Ubuntu)
    ");
}

#[test]
fn start_help_shows_its_flags_and_not_the_hidden_alias() {
    let sandbox = Sandbox::new();
    let help = paw(&sandbox, &sandbox.root(), &["start", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "--supervisor",
        "--no-supervisor",
        "--from-all-specs",
        "--specs",
        "--no-rebase",
        "--dry-run",
        "--preset",
        "every discovered spec",
        "Disable the supervisor for this session, overriding [supervisor] enabled = true",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert!(!help.contains("--from-specs"), "{help}");
}
