//! `git paw web`: the page of a session, over HTTP.

mod access;
mod actions;
mod api;
pub(crate) mod browser;
pub(crate) mod client;
mod embedding;
mod encrypted;
mod page;
mod qr_code;
pub(crate) mod terminal;

use std::path::PathBuf;

use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::AgentId;
use paw_core::paths::PawDir;
use paw_testkit::{AgentLook, FakeAgent, RunOutput, Sandbox, TestRepo, wait_until};
use serde_json::Value;

use crate::paw::{PROGRAM, document, paw};
use client::Client;

/// A session with an agent on `feat/x` that looks like claude, others that do not, and a page.
struct WebWorld {
    sandbox: Sandbox,
    repo: TestRepo,
    agent: FakeAgent,
}

impl WebWorld {
    fn started(config: &str) -> Self {
        Self::with_branches(config, &["feat/x", "feat/y=second"])
    }

    fn with_branches(config: &str, branches: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        // A login shell would read this machine's profile and change PATH.
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
        // Its prompts are not mixed with those of the first.
        let second = sandbox.install_agent("second", AgentLook::Plain, "").program;
        let text = format!(
            "[clis.second]\ncommand = \"{}\"\n[broker]\nenabled = true\nport = 0\n[web]\nport = 0\n{config}",
            second.display()
        );
        sandbox.write("home/.config/git-paw/config.toml", &text);
        let world = Self { repo: sandbox.repo("app"), sandbox, agent };
        let branches = branches.join(",");
        let ran = world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", &branches]);
        assert_eq!(ran.code, 0, "{ran}");
        world
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    /// The document of `git paw web --json`.
    fn link(&self, args: &[&str]) -> Value {
        let ran = self.paw(&[&["web", "--json"], args].concat());
        assert_eq!(ran.code, 0, "{ran}");
        document(&ran)
    }

    /// A browser that is logged in.
    fn log_in(&self, args: &[&str]) -> Client {
        let link = self.link(args);
        let client = Client::of_link(link["link"].as_str().unwrap());
        client.log_in(link["code"].as_str().unwrap())
    }

    fn tmux(&self, args: &[&str]) -> String {
        self.sandbox.tmux(args).stdout.trim_end().to_owned()
    }

    /// The pane of an agent.
    fn pane(&self, agent: &str) -> String {
        let listing = self.tmux(&["list-panes", "-s", "-t", "=paw-app:", "-F", "#{@paw_agent} #{pane_id}"]);
        let pane = listing.lines().find_map(|line| line.strip_prefix(&format!("{agent} ")));
        pane.unwrap_or_else(|| panic!("no pane: {listing}")).to_owned()
    }

    /// Types a prompt into the pane of `feat/x`, whose CLI has got its first prompt.
    fn submit(&self, prompt: &str) {
        let pane = self.pane("feat-x");
        wait_until("the agent is ready", || self.shows(&pane, "? for shortcuts").then_some(()));
        self.tmux(&["send-keys", "-t", &pane, "-l", prompt]);
        wait_until("the prompt is typed", || self.shows(&pane, prompt).then_some(()));
        self.tmux(&["send-keys", "-t", &pane, "Enter"]);
    }

    fn worktree(&self, branch: &str) -> PathBuf {
        self.sandbox.root().join(format!("app-{}", branch.replace('/', "-")))
    }

    /// Runs git paw as the agent on `feat/x`. Returns what it prints.
    fn run_as_agent(&self, args: &[&str]) -> String {
        let dir = PawDir::of(&self.repo.root.join(".git"));
        let log = log::open(&dir.log()).unwrap();
        let session = log.current_session().unwrap().unwrap();
        let id = AgentId::new("feat-x").unwrap();
        let token = Keyring::new(&log, dir.path()).mint(&session, &id).unwrap();
        let mut command = self.sandbox.command(PROGRAM);
        command.current_dir(self.worktree("feat/x")).args(args);
        command.env("GIT_PAW_AGENT_ID", id.as_str()).env("GIT_PAW_BROKER_TOKEN", token.reveal());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn say_as_agent(&self, args: &[&str]) {
        self.run_as_agent(&[&["say"], args].concat());
    }

    /// Kills the session's process. The dashboard or the next command restarts it.
    fn kill_process(&self) {
        // One that found another running ends by itself.
        let pid = wait_until("one process is running", || match self.sandbox.session_processes()[..] {
            [pid] => Some(pid),
            _ => None,
        });
        let killed = self.sandbox.command("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success());
        wait_until("the process is gone", || {
            (!self.sandbox.session_processes().contains(&pid)).then_some(())
        });
    }

    fn shows(&self, pane: &str, text: &str) -> bool {
        self.tmux(&["capture-pane", "-p", "-J", "-t", pane]).contains(text)
    }

    fn has_event(&self, event: &str) -> bool {
        self.agent.events().iter().any(|found| found == event)
    }
}
