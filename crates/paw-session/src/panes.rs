//! A session's windows as one batch of tmux commands, the same for a start, a recovery and a dry run.
//!
//! Panes are identified by an option ([`MARK`]). Inside the batch they are addressed by index, because their ids are not
//! known yet. Indices start at zero, regardless of the user's tmux configuration.

mod build;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_agent::cli;
use paw_agent::resume::{self, Resume};
use paw_core::{AgentId, AgentReceipt, Receipt, SessionMode, SessionName, SupervisorReceipt};
use paw_host::caller::{AGENT_VARIABLE, TOKEN_VARIABLE};
pub use paw_host::caller::{DASHBOARD, PANE_OWNER as MARK};
use paw_host::git::PANE_SETTING;
use paw_host::process::shell_quote;
use paw_host::tmux::TmuxCommand;

use build::with_environment;
pub use build::{new_window, push_sizes, restore_size};

use crate::layout::{Layout, TooManyAgents, TopRow};
use crate::logs::{self, LogOwner};

/// The pane option with the agent's state, shown in the pane's border.
pub const STATE: &str = "@paw_state";
/// The pane option with the name of the agent's state and the second in which it began, for programs.
pub const ACTIVITY: &str = "@paw_activity";
/// The pane option with the pane's label for its border, because CLIs overwrite the title.
pub const LABEL: &str = "@paw_label";
/// The pane option that is set while someone types into the pane from a browser, shown in its border.
pub const TAKEN: &str = "@paw_taken";
/// The session option with the size of new windows before the session was created.
pub const SIZE_BEFORE: &str = "@paw_default_size";
/// The session option with the session's unique id.
pub const SESSION_MARK: &str = "@paw_session";
pub const SUPERVISOR: &str = AgentId::SUPERVISOR;

/// The hidden command that restarts an agent whose conversation cannot be resumed.
pub const RESTART_AGENT: &str = "__restart-agent";

/// The hidden command that writes a pane's log.
pub const LOG_PANE: &str = "__log-pane";

pub const URL_VARIABLE: &str = "GIT_PAW_BROKER_URL";

/// Shown instead of a token.
pub const REDACTED: &str = "[redacted]";

/// One pane: its owner, directory, environment and command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    pub mark: String,
    pub title: String,
    pub dir: PathBuf,
    /// The shell command, without the `cd`.
    pub command: String,
    /// Environment variables of this pane only.
    pub environment: Vec<(&'static str, String)>,
    /// The log of its output.
    pub log: Option<PathBuf>,
    /// The git-paw executable, which writes the log.
    pub program: PathBuf,
}

impl Pane {
    /// The line to type. It contains the directory, so that the user sees it, unless the path has control characters; the
    /// pane starts in that directory anyway.
    pub fn line(&self) -> String {
        let dir = self.dir.to_string_lossy();
        if dir.chars().any(char::is_control) {
            return self.command.clone();
        }
        format!("cd {} && {}", shell_quote(self.dir.as_os_str()), self.command)
    }
}

/// The window of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWindow {
    pub session: SessionName,
    pub session_id: String,
    pub mouse: bool,
    /// Whether pane borders show the agent.
    pub borders: bool,
    /// Environment variables of every pane.
    pub environment: Vec<(&'static str, String)>,
    pub panes: Vec<Pane>,
    pub layout: Layout,
}

/// Whether agents start a new conversation or resume their last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationMode {
    New,
    /// Each CLI resumes its conversation, if it supports that.
    Resumed,
}

/// Builds the panes of a receipt.
#[derive(Clone, Copy)]
pub struct PaneBuilder<'a> {
    /// The git-paw executable.
    pub program: &'a Path,
    /// An agent's token, if the session has a broker.
    pub token: &'a dyn Fn(&AgentId) -> Option<String>,
    pub conversation: ConversationMode,
    /// Agents that start a new conversation even if the others resume.
    pub fresh: &'a [AgentId],
}

impl std::fmt::Debug for PaneBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PaneBuilder").field("program", &self.program).finish_non_exhaustive()
    }
}

impl PaneBuilder<'_> {
    /// The pane of an agent or of the supervisor, if the session has one.
    pub fn find(&self, receipt: &Receipt, id: &AgentId) -> Option<Pane> {
        if id.as_str() == SUPERVISOR {
            return receipt.supervisor.as_ref().map(|supervisor| self.supervisor(receipt, supervisor));
        }
        let mut agents = receipt.worktrees.iter().zip(receipt.agent_ids());
        agents.find(|(_, of)| of == id).map(|(agent, id)| self.agent(receipt, agent, &id))
    }

    fn agent(&self, receipt: &Receipt, agent: &AgentReceipt, id: &AgentId) -> Pane {
        Pane {
            mark: id.to_string(),
            title: format!("{} → {}", agent.branch, agent.cli),
            dir: agent.worktree_path.clone(),
            command: self.line(id, &agent.cli, agent.command.as_deref(), agent.conversation.as_ref()),
            environment: self.environment(id),
            log: log(receipt, &LogOwner::Agent(agent.branch.clone())),
            program: self.program.to_path_buf(),
        }
    }

    fn supervisor(&self, receipt: &Receipt, supervisor: &SupervisorReceipt) -> Pane {
        let command = Some(supervisor.command.as_str()).filter(|command| !command.is_empty());
        let id = AgentId::supervisor();
        Pane {
            mark: SUPERVISOR.to_owned(),
            title: format!("{SUPERVISOR} → {}", supervisor.cli),
            dir: receipt.repo_path.clone(),
            command: self.line(&id, &supervisor.cli, command, supervisor.conversation.as_ref()),
            environment: self.environment(&id),
            log: log(receipt, &LogOwner::Supervisor),
            program: self.program.to_path_buf(),
        }
    }

    /// The dashboard's pane. It has no token, because the dashboard sends no messages.
    pub fn dashboard(&self, receipt: &Receipt) -> Pane {
        Pane {
            mark: DASHBOARD.to_owned(),
            title: DASHBOARD.to_owned(),
            dir: receipt.repo_path.clone(),
            command: format!("{} __dashboard", shell_quote(self.program.as_os_str())),
            environment: Vec::new(),
            log: None,
            program: self.program.to_path_buf(),
        }
    }

    /// The command that starts an agent. If it resumes a conversation and that fails, [`RESTART_AGENT`] starts a new one.
    fn line(&self, id: &AgentId, cli: &str, recorded: Option<&str>, conversation: Option<&String>) -> String {
        let line = recorded_line(cli, recorded);
        if self.conversation == ConversationMode::New || self.fresh.contains(id) {
            return line;
        }
        let conversation = conversation.map_or(Resume::Latest, |name| Resume::Conversation(name.clone()));
        match resume::arguments(cli::descriptor(cli), &conversation) {
            Some(words) => {
                let program = shell_quote(self.program.as_os_str());
                format!("{line} {words} || {program} {RESTART_AGENT} {id}")
            }
            None => line,
        }
    }

    fn environment(&self, id: &AgentId) -> Vec<(&'static str, String)> {
        let token = (self.token)(id).map(|token| (TOKEN_VARIABLE, token));
        [(AGENT_VARIABLE, id.to_string())].into_iter().chain(token).chain(git_settings()).collect()
    }
}

/// git in a pane ignores directories that look like bare repositories: their settings can run programs, and a repository may
/// contain such directories. Settings that the user passes in the same way are left alone.
fn git_settings() -> Vec<(&'static str, String)> {
    let (key, value) = PANE_SETTING;
    let own = std::env::var("GIT_CONFIG_KEY_0").is_ok_and(|known| known == key);
    if std::env::var_os("GIT_CONFIG_COUNT").is_some() && !own {
        return Vec::new();
    }
    [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", key), ("GIT_CONFIG_VALUE_0", value)]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec()
}

/// The recorded command that starts a CLI. Old receipts have none; then it is the CLI's name.
pub fn recorded_line(cli: &str, recorded: Option<&str>) -> String {
    recorded.map_or_else(|| shell_quote(OsStr::new(cli)), str::to_owned)
}

fn log(receipt: &Receipt, owner: &LogOwner) -> Option<PathBuf> {
    receipt.log_dir.as_ref().map(|dir| logs::log_path(dir, &receipt.session_name, owner))
}

impl SessionWindow {
    /// The window that a receipt describes.
    pub fn of(receipt: &Receipt, builder: PaneBuilder<'_>) -> Result<Self, TooManyAgents> {
        let top = TopRow::of(receipt.mode, receipt.has_broker());
        let layout = Layout::of(receipt)?;
        let mut panes = Vec::with_capacity(layout.panes());
        if receipt.mode == SessionMode::Supervisor {
            panes.push(builder.supervisor(receipt, &receipt.supervisor.clone().unwrap_or_default()));
        }
        if top.dashboard().is_some() {
            panes.push(builder.dashboard(receipt));
        }
        let agents = receipt.worktrees.iter().zip(receipt.agent_ids());
        panes.extend(agents.map(|(agent, id)| builder.agent(receipt, agent, &id)));
        let url = receipt.broker_url().map(|url| (URL_VARIABLE, url));
        Ok(Self {
            session: receipt.session_name.clone(),
            session_id: receipt.session_id(),
            mouse: receipt.mouse,
            borders: receipt.borders,
            environment: url.into_iter().collect(),
            panes,
            layout,
        })
    }
}

/// Sets the owner of a pane.
pub fn mark(target: &str, mark: &str) -> TmuxCommand {
    TmuxCommand::new("set-option").args(["-p", "-t", target, MARK, mark])
}

/// Sets the title of a pane, and its label.
pub fn title(target: &str, title: &str, push: &mut impl FnMut(TmuxCommand)) {
    push(TmuxCommand::new("select-pane").args(["-t", target, "-T", &plain(title)]));
    push(TmuxCommand::new("set-option").args(["-p", "-t", target, LABEL, &plain(title)]));
}

/// Types the pane's command and logs its output.
pub fn type_and_log(target: &str, pane: &Pane, push: &mut impl FnMut(TmuxCommand)) {
    push(TmuxCommand::new("send-keys").args(["-t", target, &pane.line(), "Enter"]));
    if let Some(log) = &pane.log {
        // Not `cat >> log`: a program that prints without end would fill the disk.
        let (program, log) = (shell_quote(pane.program.as_os_str()), shell_quote(log.as_os_str()));
        // pipe-pane also expands strftime formats.
        let keep = plain(&format!("{program} {LOG_PANE} {log}")).replace('%', "%%");
        push(TmuxCommand::new("pipe-pane").args(["-o", "-t", target, &keep]));
    }
}

/// Splits a pane, with the new pane's own environment.
pub fn split(from: &str, pane: &Pane) -> TmuxCommand {
    let split = TmuxCommand::new("split-window").args(["-d", "-t", from]);
    with_environment(split, &pane.environment).args(["-c", &plain(&pane.dir.to_string_lossy())])
}

/// Escapes `#`, because tmux expands `#{…}` and runs `#(…)`.
pub fn plain(text: &str) -> String {
    text.replace('#', "##")
}

#[cfg(test)]
mod tests;
