//! `git paw demo --hosts`: one session on three machines, with scripted agents.

use std::path::{Path, PathBuf};

use paw_cluster::server;
use paw_core::PawError;
use paw_core::paths::{CheckoutDir, ConfigDir};
use paw_host::files::{self, Access};
use paw_host::git::Git;
use paw_host::process::{Command, own_program, shell_quote};
use serde_json::Value;

use super::facts::{self, CheckedFacts, not_seen, wait_until};
use super::machines::{HOSTS, HUB, Machines, Separation};
use super::scratch_repo;
use crate::context::Context;

const CLI: &str = "worker";
const QUESTION: &str = "may I use the large model?";

/// An agent that waits for files before each step. `HERE` is the directory of its machine.
const WORKER: &str = r#"#!/bin/sh
say() { PAW say "$@" >/dev/null 2>&1; }
wait_for() { until [ -e HERE/$1 ]; do sleep 0.1; done; }
echo "working on NAME, in $PWD"
wait_for edit
echo "A program that greets, by NAME" >README.md
wait_for ask
say question "QUESTION"
wait_for finish
git checkout --quiet -- README.md
echo "made on NAME" >NAME.txt
git add NAME.txt
git commit --quiet --message "Work of NAME"
touch HERE/finished
exec sleep 100000
"#;

struct HostsDemo<'a> {
    dir: PathBuf,
    program: PathBuf,
    machines: Machines,
    context: &'a Context,
}

/// Runs the demo in a scratch directory. Whatever happens, the machines are ended.
pub(super) fn run(dir: &Path, context: &Context) -> Result<(), PawError> {
    server::require_program(&context.search_path)?;
    let program = own_program()?;
    let machines = Machines::start(dir, &program, &context.search_path)?;
    let demo = HostsDemo { dir: dir.to_path_buf(), program, machines, context };
    demo.set_up()?;
    let shown = demo.show();
    if shown.is_err() {
        let _ = demo.paw(&["purge", "--force"]).capture();
    }
    facts::list(&shown?, context)?;
    context
        .output
        .say("try next: git paw host add NAME USER@HOST, then git paw start --branches feat/a,feat/b@NAME")
}

impl HostsDemo<'_> {
    fn root(&self) -> PathBuf {
        self.dir.join("demo")
    }

    fn say(&self, line: &str) -> Result<(), PawError> {
        self.context.output.say(line)
    }

    fn set_up(&self) -> Result<(), PawError> {
        let separation = match self.machines.separation {
            Separation::Namespaces => "network namespaces of their own",
            Separation::Loopback => {
                "this computer's loopback, because network namespaces are not allowed here"
            }
        };
        self.say(&format!("three machines on this computer, on {separation}: {HUB}, {}", HOSTS.join(", ")))?;
        files::write_atomic(&self.root().join("README.md"), b"A program that greets\n", Access::Usual)?;
        scratch_repo::commit_all(&Git::at(self.root()))?;
        // A JSON string is also a TOML string.
        let quoted = |path: &Path| Value::from(path.to_string_lossy()).to_string();
        let socket = self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hosts = HOSTS.map(|name| format!("[hosts.{name}]\nssh = \"{name}\"\n")).concat();
        for name in [HUB].into_iter().chain(HOSTS) {
            let worker = self.machines.home(name).join(CLI);
            let script = WORKER
                .replace("PAW", &shell_quote(self.program.as_os_str()))
                .replace("HERE", &shell_quote(self.machines.home(name).as_os_str()))
                .replace("NAME", name)
                .replace("QUESTION", QUESTION);
            files::write_atomic(&worker, script.as_bytes(), Access::Executable)?;
            let config = format!("[clis.{CLI}]\ncommand = {}\n", quoted(&worker));
            if name == HUB {
                let more =
                    format!("[supervisor]\ntest_command = \"true\"\n[tmux]\nsocket = \"{socket}\"\n{hosts}");
                let file = ConfigDir::below(&self.dir.join("config")).config();
                files::write_atomic(&file, format!("{config}{more}").as_bytes(), Access::Usual)?;
            } else {
                self.machines.configure(name, &config)?;
            }
        }
        Ok(())
    }

    fn paw(&self, args: &[&str]) -> Command {
        self.machines
            .within(HUB, self.program.clone())
            .args(args)
            .dir(self.root())
            .env("PATH", self.machines.path_of_hub())
            .env("XDG_CONFIG_HOME", self.dir.join("config"))
            .env("XDG_DATA_HOME", self.dir.join("data"))
            .env_remove("TMUX")
            .env_remove("GIT_PAW_AGENT_ID")
            .env_remove("GIT_PAW_BROKER_TOKEN")
            .env_remove("GIT_PAW_BROKER_URL")
    }

    fn run(&self, args: &[&str]) -> Result<String, PawError> {
        let output = self.paw(args).capture()?;
        if output.exit.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(PawError::SessionError(format!("git paw {} {}: {}", args.join(" "), output.exit, said.trim())))
    }

    fn json(&self, args: &[&str]) -> Result<Value, PawError> {
        serde_json::from_str(&self.run(args)?).map_err(|error| PawError::internal(error.to_string()))
    }

    /// Whether the hub reaches a machine.
    fn is_reachable(&self, name: &str) -> Result<bool, PawError> {
        let status = self.json(&["cluster", "status", "--json"])?;
        let hosts = status["hosts"].as_array().into_iter().flatten();
        Ok(hosts.into_iter().any(|host| host["name"] == name && host["reachable"] == true))
    }

    /// The messages of a session, by the audit trail of a repository.
    fn audit(repository: &Path) -> Result<String, PawError> {
        Ok(files::load_text(&CheckoutDir::of(repository).audit_trail())?.unwrap_or_default())
    }

    /// The clone on a machine.
    fn clone_on(&self, name: &str) -> Result<PathBuf, PawError> {
        let status = self.json(&["cluster", "status", "--json"])?;
        let hosts = status["hosts"].as_array().into_iter().flatten();
        let path = hosts.into_iter().find(|host| host["name"] == name).and_then(|host| host["path"].as_str());
        path.map(PathBuf::from).ok_or_else(|| not_seen("a clone", name))
    }

    /// Lets the agent of a machine do its next step.
    fn allow(&self, name: &str, step: &str) -> Result<(), PawError> {
        Ok(files::write_atomic(&self.machines.home(name).join(step), b"", Access::Usual)?)
    }

    fn show(&self) -> Result<CheckedFacts, PawError> {
        let chapters =
            [Self::start, Self::message, Self::conflict, Self::partition, Self::merge, Self::purge];
        chapters.into_iter().map(|chapter| chapter(self)).collect()
    }

    fn start(&self) -> Result<&'static str, PawError> {
        let fact = "one session with agents on three machines, each in a worktree and a pane there";
        let branches = "feat/hub,feat/big@big,feat/gpu@gpu";
        self.run(&["start", "--no-supervisor", "--cli", CLI, "--branches", branches])?;
        for name in HOSTS {
            wait_until(fact, || self.is_reachable(name))?;
        }
        self.say(&format!("git paw start --branches {branches}, then git paw status:"))?;
        let shown = self.run(&["status"])?;
        shown
            .lines()
            .filter(|line| !line.trim().is_empty())
            .try_for_each(|line| self.say(&format!("   {line}")))?;
        Ok(fact)
    }

    fn message(&self) -> Result<&'static str, PawError> {
        let fact = "a message that arrived on another machine";
        self.run(&["tell", "feat-big", "use the new data", "--inbox"])?;
        let clone = self.clone_on("big")?;
        wait_until(fact, || Ok(Self::audit(&clone)?.contains("use the new data")))?;
        self.say("git paw tell feat-big \"use the new data\": stored here, replicated, in the inbox on big")?;
        Ok(fact)
    }

    fn conflict(&self) -> Result<&'static str, PawError> {
        let fact = "agents on different machines that changed one file, warned before they committed";
        for name in [HUB].into_iter().chain(HOSTS) {
            self.allow(name, "edit")?;
        }
        let clone = self.clone_on("big")?;
        let is_warned = |repository: &Path| -> Result<bool, PawError> {
            let audit = Self::audit(repository)?;
            Ok(audit.lines().any(|line| line.contains("[conflict-detector]") && line.contains("README.md")))
        };
        wait_until(fact, || Ok(is_warned(&self.root())? && is_warned(&clone)?))?;
        self.say("the agents on hub, big and gpu changed README.md: all were warned")?;
        Ok(fact)
    }

    /// One machine cannot be reached for a while.
    fn partition(&self) -> Result<&'static str, PawError> {
        let fact = "a partition: work went on, and afterwards everything arrived once";
        let clone = self.clone_on("gpu")?;
        self.machines.disconnect("gpu")?;
        self.allow("gpu", "ask")?;
        wait_until(fact, || Ok(Self::audit(&clone)?.contains(QUESTION)))?;
        wait_until(fact, || Ok(!self.is_reachable("gpu")?))?;
        let shown = self.run(&["status"])?;
        let line = shown.lines().find(|line| line.contains("unreachable since")).unwrap_or_default();
        self.say("the cable of gpu is pulled; its agent asks a question meanwhile:")?;
        self.say(&format!("   {}", line.trim()))?;
        if Self::audit(&self.root())?.contains(QUESTION) {
            return Err(not_seen(fact, "the question arrived without a connection"));
        }
        self.machines.connect("gpu")?;
        wait_until(fact, || Ok(Self::audit(&self.root())?.contains(QUESTION)))?;
        let times = Self::audit(&self.root())?.matches(QUESTION).count();
        if times != 1 {
            return Err(not_seen(fact, format!("the question arrived {times} times")));
        }
        self.say("the cable is plugged in again: the question arrives here, once")?;
        Ok(fact)
    }

    fn merge(&self) -> Result<&'static str, PawError> {
        let fact = "work of another machine, tested on the hub and merged";
        for step in ["ask", "finish"] {
            self.allow("big", step)?;
        }
        wait_until(fact, || Ok(self.machines.home("big").join("finished").exists()))?;
        self.run(&["verify", "feat/big"])?;
        self.run(&["merge", "feat/big"])?;
        for repository in [self.root(), self.clone_on("big")?, self.clone_on("gpu")?] {
            let files = Git::at(&repository).run(["ls-tree", "--name-only", "main"])?;
            let files = String::from_utf8_lossy(&files).into_owned();
            if !files.lines().any(|file| file == "big.txt") {
                return Err(not_seen(fact, format!("{}: {files}", repository.display())));
            }
        }
        self.say("git paw verify, git paw merge: feat/big was fetched, tested here and merged; main is pushed to each machine")?;
        Ok(fact)
    }

    fn purge(&self) -> Result<&'static str, PawError> {
        let clone = self.clone_on("big")?;
        self.run(&["purge", "--force"])?;
        let worktree = clone
            .with_file_name(format!("{}-feat-big", clone.file_name().unwrap_or_default().to_string_lossy()));
        if worktree.exists() {
            return Err(not_seen("a purge on all machines", worktree.display()));
        }
        self.say("git paw purge: sessions and worktrees are gone on all machines")?;
        Ok("a purge that left nothing running on any machine")
    }
}
