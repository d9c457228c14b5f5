//! What is remembered of a session: everything needed to build it again after tmux, the machine or we have died.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Diagnostic, ErrorCode, ErrorReport};
use crate::name::{AgentId, BranchName, SessionName};

/// The shape this version writes. A file with a higher number is from a newer version and is left alone.
pub const FORMAT: u32 = 1;

/// Where a broker was reached when receipts only said that there was one.
const OLD_PORT: u16 = 9119;
const OLD_BIND: &str = "127.0.0.1";

/// A receipt that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    #[error("it is not a session receipt: {0}")]
    Malformed(serde_json::Error),
    #[error("it was written by a newer version (format {found}, this one knows {FORMAT})")]
    Newer { found: u64 },
    #[error("the session cannot be written down: {0}")]
    Unwritable(serde_json::Error),
}

impl Diagnostic for ReceiptError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Newer { .. } => report.hint("update git-paw; the file was left as it is"),
            Self::Malformed(_) | Self::Unwritable(_) => report,
        }
    }
}

/// What the last command left a session in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    Active,
    /// Nobody looks and the broker is down, but tmux and the agents go on.
    Paused,
    Stopped,
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        })
    }
}

/// Whether an agent of its own supervises the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionMode {
    #[default]
    Bare,
    Supervisor,
}

/// The supervising agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorReceipt {
    pub cli: String,
    /// The shell line that starts the CLI.
    pub command: String,
    /// Its own conversation, once known, to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// What it is told when it begins, whenever that has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_boot_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt_problem: Option<String>,
}

/// One agent: a CLI in a worktree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentReceipt {
    pub branch: BranchName,
    pub worktree_path: PathBuf,
    pub cli: String,
    /// The session made the branch, so it may also delete it.
    #[serde(default)]
    pub branch_created: bool,
    /// Receipts of other versions leave it out; [`Receipt::agent_ids`] then has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The shell line that starts the CLI, approval flags included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What the agent works on, if a specification says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// What the agent is told when it begins, whenever that has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt: Option<String>,
    /// What the agent still has to be told; nothing once it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_boot_prompt: Option<String>,
    /// Why it could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt_problem: Option<String>,
    /// The CLI's own conversation, once known, to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The settings file of its CLI, in the worktree, where it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_path: Option<PathBuf>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl AgentReceipt {
    pub fn new(branch: BranchName, worktree_path: PathBuf, cli: impl Into<String>) -> Self {
        Self {
            branch,
            worktree_path,
            cli: cli.into(),
            branch_created: false,
            agent_id: None,
            command: None,
            spec: None,
            boot_prompt: None,
            pending_boot_prompt: None,
            boot_prompt_problem: None,
            conversation: None,
            settings_path: None,
            unknown: Map::new(),
        }
    }
}

/// A session, as it is kept on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// What its tmux session can be known by: one that was made before there was a number does not say which it is. It
    /// keeps its zero until it is built again.
    #[serde(default)]
    pub format: u32,
    pub session_name: SessionName,
    pub repo_path: PathBuf,
    pub project_name: String,
    pub created_at: Timestamp,
    pub status: SessionStatus,
    #[serde(default)]
    pub mode: SessionMode,
    /// A command looks after its agents in the place of a supervisor, so they are started as they would be under one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SupervisorReceipt>,
    #[serde(default)]
    pub worktrees: Vec<AgentReceipt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_bind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_log_path: Option<PathBuf>,
    /// Where the dashboard was made. Panes are found by what they say they are, never by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_pane: Option<u32>,
    #[serde(default = "yes")]
    pub mouse: bool,
    /// The borders of panes say whose they are, and what the agents are doing.
    #[serde(default = "yes")]
    pub borders: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux_socket: Option<String>,
    /// What its messages carry, if that is not what its name gives: it was called otherwise before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_id: Option<String>,
    /// Whatever another version or another program has put there.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

fn yes() -> bool {
    true
}

impl Receipt {
    /// A session without agents, without a broker.
    pub fn new(
        session_name: SessionName,
        repo_path: PathBuf,
        project_name: impl Into<String>,
        created_at: Timestamp,
    ) -> Self {
        Self {
            format: FORMAT,
            session_name,
            repo_path,
            project_name: project_name.into(),
            created_at,
            status: SessionStatus::Active,
            mode: SessionMode::Bare,
            unattended: false,
            supervisor: None,
            worktrees: Vec::new(),
            broker_port: None,
            broker_bind: None,
            broker_log_path: None,
            dashboard_pane: None,
            mouse: true,
            borders: true,
            log_dir: None,
            tmux_socket: None,
            original_id: None,
            unknown: Map::new(),
        }
    }

    /// From the text of a file of this version, of an older one, or of none with a number.
    pub fn parse(text: &str) -> Result<Self, ReceiptError> {
        let value: Value = serde_json::from_str(text).map_err(ReceiptError::Malformed)?;
        if let Some(found) = value["format"].as_u64().filter(|found| *found > u64::from(FORMAT)) {
            return Err(ReceiptError::Newer { found });
        }
        let mut receipt: Self = serde_json::from_value(value).map_err(ReceiptError::Malformed)?;
        let had_broker = receipt.unknown.shift_remove("broker_enabled") == Some(Value::Bool(true));
        if had_broker {
            receipt.broker_port.get_or_insert(OLD_PORT);
            receipt.broker_bind.get_or_insert_with(|| OLD_BIND.to_owned());
        }
        Ok(receipt)
    }

    pub fn to_text(&self) -> Result<String, ReceiptError> {
        let mut text = serde_json::to_string_pretty(self).map_err(ReceiptError::Unwritable)?;
        text.push('\n');
        Ok(text)
    }

    /// What messages of this session carry. Two sessions of one name, one after the other, are told apart.
    pub fn session_id(&self) -> String {
        self.original_id.clone().unwrap_or_else(|| {
            format!("{}@{}", self.session_name, self.created_at.strftime("%Y%m%dT%H%M%SZ"))
        })
    }

    pub fn has_broker(&self) -> bool {
        self.broker_port.is_some()
    }

    /// Where agents reach the broker, if the session has one.
    pub fn broker_url(&self) -> Option<String> {
        let bind = self.broker_bind.as_deref().unwrap_or(OLD_BIND);
        let host = if bind.contains(':') { format!("[{bind}]") } else { bind.to_owned() };
        self.broker_port.map(|port| format!("http://{host}:{port}"))
    }

    /// Each agent's id, in the order of the agents; where a receipt does not say, what it would be given now.
    pub fn agent_ids(&self) -> Vec<AgentId> {
        let said: Vec<_> = self.worktrees.iter().filter_map(|agent| agent.agent_id.clone()).collect();
        let mut ids: Vec<AgentId> = Vec::with_capacity(self.worktrees.len());
        for agent in &self.worktrees {
            let id = agent.agent_id.clone().unwrap_or_else(|| {
                AgentId::for_branch(&agent.branch, |id| ids.contains(id) || said.contains(id))
            });
            ids.push(id);
        }
        ids
    }

    pub fn find_agent(&self, branch: &BranchName) -> Option<&AgentReceipt> {
        self.worktrees.iter().find(|agent| agent.branch == *branch)
    }

    /// Whether somebody answers for its agents, a supervisor or a command in its place.
    pub fn is_looked_after(&self) -> bool {
        self.mode == SessionMode::Supervisor || self.unattended
    }

    /// What the session really is: recorded as alive counts only while tmux has it.
    pub fn effective_status(&self, is_tmux_alive: impl Fn(&SessionName) -> bool) -> SessionStatus {
        match self.status {
            SessionStatus::Stopped => SessionStatus::Stopped,
            alive if is_tmux_alive(&self.session_name) => alive,
            SessionStatus::Active | SessionStatus::Paused => SessionStatus::Stopped,
        }
    }
}

#[cfg(test)]
mod tests;
