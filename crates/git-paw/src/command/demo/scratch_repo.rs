//! The scratch repository of the demo, with its own configuration and tmux server.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_broker::StoredMessage;
use paw_broker::log::{self, PageLimit};
use paw_core::paths::ConfigDir;
use paw_core::paths::PawDir;
use paw_core::paths::TaskmasterDir;
use paw_core::{AgentId, PawError};
use paw_host::files::{self, Access};
use paw_host::git::{Git, Repo};
use paw_host::process::{Command, Exit, shell_quote};
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::panes::DASHBOARD;
use paw_session::session_process;
use serde_json::Value;

use super::agent::DemoTask;

/// The name of the agents' CLI.
pub(super) const CLI: &str = paw_agent::cli::DEMO.name;
const README: &str = "# A program that greets\n\nRun it and be greeted.\n";
/// The gate: every program must greet its argument.
const CHECK: &str = "#!/bin/sh
for program in src/*.sh; do
    test -e \"$program\" || continue
    sh \"$program\" Ada | grep -qi Ada || { echo \"FAILED: $program does not greet Ada\"; exit 1; }
done
for test in tests/*.sh; do
    test -e \"$test\" || continue
    sh \"$test\" || exit 1
done
";
/// A task for autopilot.
const TASKS: &str = r#"{
  "master": {
    "tasks": [
      {
        "id": 4,
        "title": "Shout",
        "description": "A program that greets loudly",
        "status": "pending",
        "dependencies": [],
        "subtasks": [
          { "id": 1, "title": "Greet in capitals", "description": "src/shout.sh NAME", "status": "pending", "dependencies": [] }
        ]
      }
    ]
  }
}
"#;

pub(super) struct ScratchRepo {
    dir: PathBuf,
    program: PathBuf,
    socket: String,
}

/// Makes a repository of a directory, with one commit of everything in it.
pub(super) fn commit_all(git: &Git) -> Result<(), PawError> {
    git.require_minimum()?;
    git.run(["init", "--quiet", "--initial-branch=main"])?;
    for (key, value) in [("user.name", "git paw demo"), ("user.email", "demo@git-paw.invalid")] {
        git.run(["config", key, value])?;
    }
    git.run(["add", "--all"])?;
    git.run(["commit", "--quiet", "--message=A program that greets"])?;
    Ok(())
}

impl ScratchRepo {
    /// Creates a repository with a commit, and a configuration with one CLI and one gate. `watched` slows the agents down.
    pub(super) fn prepare(dir: &Path, watched: bool) -> Result<Self, PawError> {
        let program = paw_host::process::own_program()?;
        let socket = dir.file_name().unwrap_or(OsStr::new("git-paw-demo")).to_string_lossy().into_owned();
        let scratch = Self { dir: dir.to_path_buf(), program, socket };
        files::write_atomic(&scratch.root().join("README.md"), README.as_bytes(), Access::Usual)?;
        files::write_atomic(&TaskmasterDir::of(&scratch.root()).tasks(), TASKS.as_bytes(), Access::Usual)?;
        files::write_atomic(&scratch.root().join("check.sh"), CHECK.as_bytes(), Access::Executable)?;
        commit_all(&scratch.git())?;
        let pace = if watched { 400 } else { 0 };
        let agent = dir.join(CLI);
        let script = format!(
            "#!/bin/sh\nexec {} __demo-agent --pace-ms {pace} \"$@\"\n",
            shell_quote(scratch.program.as_os_str())
        );
        files::write_atomic(&agent, script.as_bytes(), Access::Executable)?;
        // A JSON string is also a TOML string.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let config = format!(
            "[logging]\nenabled = true\n\n[supervisor]\ncli = \"{CLI}\"\ntest_command = \"sh check.sh\"\n\n\
             [tmux]\nsocket = {}\n\n[clis.{CLI}]\ncommand = {}\n\n\
             [autopilot.executors.{CLI}]\ncommand = [{}, \"--executor\"]\n",
            quoted(&scratch.socket),
            quoted(&agent.to_string_lossy()),
            quoted(&agent.to_string_lossy())
        );
        files::write_atomic(
            &ConfigDir::below(&dir.join("config")).config(),
            config.as_bytes(),
            Access::Usual,
        )?;
        Ok(scratch)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.join("demo")
    }

    pub(super) fn git(&self) -> Git {
        Git::at(self.root())
    }

    /// A git paw command in the scratch repository.
    fn paw(&self, args: &[&str]) -> Command {
        Command::new(&self.program)
            .args(args)
            .dir(self.root())
            .env("XDG_CONFIG_HOME", self.dir.join("config"))
            .env("XDG_DATA_HOME", self.dir.join("data"))
            // The demo may run inside tmux, or in an agent's pane.
            .env_remove("TMUX")
            .env_remove("GIT_PAW_AGENT_ID")
            .env_remove("GIT_PAW_BROKER_TOKEN")
            .env_remove("GIT_PAW_BROKER_URL")
    }

    /// Runs a git paw command and returns its output. A failure ends the demo.
    pub(super) fn run(&self, args: &[&str]) -> Result<String, PawError> {
        let output = self.paw(args).capture()?;
        if output.exit.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(PawError::SessionError(format!("git paw {} {}: {}", args.join(" "), output.exit, said.trim())))
    }

    /// Runs a git paw command with `--json` and returns the document.
    pub(super) fn json(&self, args: &[&str]) -> Result<Value, PawError> {
        serde_json::from_str(&self.run(args)?).map_err(|error| {
            PawError::internal(format!("git paw {} did not print JSON: {error}", args.join(" ")))
        })
    }

    /// Attaches the terminal to the session until the user detaches.
    pub(super) fn attach(&self) -> Result<(), PawError> {
        match self.paw(&["attach"]).inherit()? {
            Exit::Code(0) => Ok(()),
            exit => Err(PawError::TmuxError(format!("git paw attach {exit}"))),
        }
    }

    pub(super) fn how_to_attach(&self) -> String {
        format!("tmux -L {} attach", self.socket)
    }

    /// Runs a tmux command on the pane of an agent or of the dashboard, and returns its output.
    fn on_pane(&self, owner: &str, verb: &'static str, args: &[&str]) -> Result<String, PawError> {
        let tmux = Tmux::on_socket(Some(self.socket.clone()));
        let list = TmuxCommand::new("list-panes").args(["-a", "-F", "#{@paw_agent} #{pane_id}"]);
        let panes = tmux.run(&list)?;
        let pane = panes.lines().find_map(|line| line.strip_prefix(owner)?.strip_prefix(' '));
        let pane = pane.ok_or_else(|| PawError::SessionError(format!("{owner} has no pane")))?;
        Ok(tmux.run(&TmuxCommand::new(verb).args(["-t", pane]).args(args.iter().copied()))?)
    }

    /// Presses keys in the dashboard, as a person would.
    pub(super) fn press(&self, keys: &[&str]) -> Result<(), PawError> {
        self.on_pane(DASHBOARD, "send-keys", keys).map(drop)
    }

    /// What the dashboard shows.
    pub(super) fn dashboard(&self) -> Result<String, PawError> {
        self.on_pane(DASHBOARD, "capture-pane", &["-p"])
    }

    /// Whether the agent's pane fills the window.
    pub(super) fn is_zoomed(&self, agent: &str) -> Result<bool, PawError> {
        let format = "#{&&:#{window_zoomed_flag},#{pane_active}}";
        Ok(self.on_pane(agent, "display-message", &["-p", format])?.trim() == "1")
    }

    /// Shows all panes again, with the dashboard active.
    pub(super) fn leave_zoom(&self) -> Result<(), PawError> {
        self.on_pane(DASHBOARD, "select-pane", &[]).map(drop)
    }

    /// The processes of the panes, except the dashboard.
    pub(super) fn pane_processes(&self) -> Result<Vec<String>, PawError> {
        let list = TmuxCommand::new("list-panes").args(["-a", "-F", "#{@paw_agent} #{pane_pid}"]);
        let panes = Tmux::on_socket(Some(self.socket.clone())).run(&list)?;
        let mut panes: Vec<_> =
            panes.lines().filter(|line| !line.starts_with("dashboard")).map(str::to_owned).collect();
        panes.sort();
        Ok(panes)
    }

    /// All messages of the session.
    pub(super) fn messages(&self) -> Result<Vec<StoredMessage>, PawError> {
        let log = PawDir::of(&self.root().join(".git")).log();
        let log = log::open(&log)?;
        let Some(session) = log.current_session()? else { return Ok(Vec::new()) };
        let entries = log.history(&session, 0, PageLimit::DEFAULT)?;
        Ok(entries.iter().filter_map(|entry| entry.parse(&session)).collect())
    }

    /// Stops the session's process and the tmux server.
    pub(super) fn end(&self) {
        if let Ok(repo) = Repo::discover(&self.root()) {
            session_process::end(&repo);
        }
        let tmux = Tmux::on_socket(Some(self.socket.clone()));
        let _ = tmux.run(&TmuxCommand::new("kill-server"));
    }
}

/// The agent that works on a task.
pub(super) fn agent(task: DemoTask) -> Result<AgentId, PawError> {
    Ok(AgentId::slug(&task.branch()?))
}
