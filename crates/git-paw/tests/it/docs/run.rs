//! Typing a page: real git, real tmux, and scripted programs in the place of AI CLIs.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::AgentId;
use paw_core::paths::PawDir;
use paw_testkit::{AgentLook, RunOutput, Sandbox, TestRepo};

use super::blocks::{Kind, Step, matches, steps};
use super::load_page;
use crate::paw::PROGRAM;

/// Looks at the arguments of git-paw and runs nothing.
const ARGUMENTS_ONLY: &str = "#!/usr/bin/env bash
words=() asked=
for word in \"$@\"; do
    [[ $word == -- && -z $asked ]] && words+=(--help) asked=1
    words+=(\"$word\")
done
[[ $asked ]] || words+=(--help)
exec REAL \"${words[@]}\" > /dev/null
";

/// Far more than any command needs, on any machine.
const PATIENCE: Duration = Duration::from_mins(3);

struct Reader {
    sandbox: Sandbox,
    repo: TestRepo,
    /// Where the shell is now.
    dir: PathBuf,
    /// The process groups of all commands, for what they leave running.
    groups: Vec<u32>,
}

/// Types everything on a page, in its order, in one sandbox.
pub(super) fn type_page(page: &str) {
    let steps = steps(&load_page(page));
    assert!(!steps.is_empty(), "{page} shows no command");
    let mut reader = Reader::new();
    for step in steps {
        let at = format!("{page}:{}: {}", step.line, step.command);
        match &step.kind {
            Kind::Ignored => {
                let looked = reader.look_at(&step.command);
                assert_eq!(looked.code, 0, "{at}\n{looked}");
            }
            Kind::Behind => reader.run(&step, None, false, &at),
            Kind::Typed { agent, fails } => {
                let fails = *fails || step.shown.iter().any(|line| line.starts_with("error: "));
                reader.run(&step, agent.as_deref(), fails, &at);
            }
        }
    }
}

impl Reader {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file("src/lib.sh", "greet() {\n    echo hello\n}\n", "a program");
        symlink(PROGRAM, sandbox.root().join("bin/git-paw")).unwrap();
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        sandbox.install_agent("claude", AgentLook::Claude, "");
        sandbox.install_agent("codex", AgentLook::Plain, "");
        let arguments_only = ARGUMENTS_ONLY.replace("REAL", PROGRAM);
        sandbox.install_program("stubs/git-paw", &arguments_only);
        sandbox.install_program("stubs/claude", "#!/bin/sh\n");
        let dir = repo.root.clone();
        Self { sandbox, repo, dir, groups: Vec::new() }
    }

    /// The command and its flags have to exist, more cannot be said here.
    fn look_at(&self, command: &str) -> RunOutput {
        let path = format!("PATH={}:$PATH; ", self.sandbox.root().join("bin/stubs").display());
        let script = format!("set -o pipefail; {path}{command}");
        self.sandbox.run(&self.dir, "bash", ["-c", &script])
    }

    fn run(&mut self, step: &Step, agent: Option<&str>, fails: bool, at: &str) {
        // A file for each: what runs in the background goes on writing to its own.
        let out = self.sandbox.root().join(format!("printed-{}", self.groups.len()));
        let cwd = self.sandbox.root().join("cwd");
        let script = format!("{}\ncode=$?; pwd > {}; exit $code", step.command, cwd.display());
        let printed = fs::File::create(&out).unwrap();
        let mut command = self.sandbox.command("bash");
        command.args(["-c", &script]).current_dir(&self.dir).process_group(0);
        command.stdin(Stdio::null()).stdout(printed.try_clone().unwrap()).stderr(printed);
        if let Some(agent) = agent {
            let (worktree, token) = self.identity(agent);
            command.current_dir(worktree).env("GIT_PAW_AGENT_ID", agent).env("GIT_PAW_BROKER_TOKEN", token);
        }
        // Its end, not that of its output, which the background holds on to.
        let mut child = command.spawn().unwrap();
        self.groups.push(child.id());
        let ended = wait(&mut child).unwrap_or_else(|| panic!("{at}\ndoes not end"));
        if agent.is_none() {
            self.dir = PathBuf::from(fs::read_to_string(cwd).unwrap().trim_end());
        }
        let printed = self.as_shown(&fs::read_to_string(&out).unwrap());
        assert_eq!(!ended.success(), fails, "{at}\nended with {ended}:\n{printed}");
        let lines: Vec<_> = printed.lines().map(str::trim_end).collect();
        let as_shown = step.shown.is_empty() || matches(&step.shown, &lines);
        assert!(as_shown, "{at}\nprints\n{printed}\nbut the page shows\n{}", step.shown.join("\n"));
    }

    /// Paths as the pages write them.
    fn as_shown(&self, text: &str) -> String {
        let text = text.replace(&self.sandbox.home().display().to_string(), "~");
        text.replace(&self.sandbox.root().display().to_string(), "/code")
    }

    /// The worktree of an agent, and what it proves itself with.
    fn identity(&self, agent: &str) -> (PathBuf, String) {
        let paw_dir = PawDir::of(&self.repo.root.join(".git"));
        let log = log::open(&paw_dir.log()).unwrap();
        let session = log.current_session().unwrap().expect("a session with a broker");
        let id = AgentId::new(agent).unwrap();
        let token = Keyring::new(&log, paw_dir.path()).mint(&session, &id).unwrap();
        (self.sandbox.root().join(format!("app-{agent}")), token.reveal().to_owned())
    }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(ended) = child.try_wait().unwrap() {
            return Some(ended);
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

impl Drop for Reader {
    fn drop(&mut self) {
        for group in &self.groups {
            let _ = self.sandbox.command("kill").args(["--", &format!("-{group}")]).output();
        }
    }
}

#[test]
fn arguments_that_do_not_exist_are_noticed_though_nothing_is_run() {
    let reader = Reader::new();
    for known in ["git paw start --unattended --cli claude --merge", "claude mcp add git-paw -- git-paw mcp"]
    {
        let looked = reader.look_at(known);
        assert_eq!(looked.code, 0, "{known}\n{looked}");
    }
    for unknown in [
        "git paw start --unatended",
        "git paw strat",
        "git paw approvals chek -- ls",
        "git paw mcp --tools no",
    ] {
        assert_ne!(reader.look_at(unknown).code, 0, "{unknown}");
    }
    assert!(!reader.repo.root.join("../app-feat-api").exists());
}
