//! Session receipts: everything needed to rebuild a session after tmux or the machine has stopped.

mod cluster;
mod lookup;

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{LayoutMode, SpecType};
use crate::error::{Diagnostic, ErrorCode, ErrorReport};
use crate::name::{AgentId, BranchName, SessionName};

pub use cluster::{ClusterReceipt, HostReceipt, HubSupervision, RemoteAgentReceipt};
pub use lookup::{AgentLookupError, find_agent};

/// The format that this version writes. A file with a higher number is from a newer version and is not changed.
pub const FORMAT: u32 = 1;

/// The address of the broker in old receipts, which do not contain it.
const OLD_PORT: u16 = 9119;
const OLD_BIND: &str = "127.0.0.1";

/// A receipt that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    #[error("not a session receipt: {0}")]
    Malformed(serde_json::Error),
    #[error("written by a newer git-paw (format {found}, this one knows {FORMAT})")]
    Newer { found: u64 },
    #[error("cannot serialize the session: {0}")]
    Unwritable(serde_json::Error),
}

impl Diagnostic for ReceiptError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Newer { .. } => report.hint("update git-paw; the file was not changed"),
            Self::Malformed(_) | Self::Unwritable(_) => report,
        }
    }
}

/// The status of a session after the last command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    Active,
    /// Detached and without a broker; tmux and the agents keep running.
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

/// Whether the session has a supervisor.
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
    /// The id of its conversation in the CLI, to resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Its first prompt, also after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_boot_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt_problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt_progress: Option<PromptProgress>,
}

impl SupervisorReceipt {
    /// Marks the first prompt to be delivered.
    pub fn queue_boot_prompt(&mut self) {
        self.pending_boot_prompt.clone_from(&self.boot_prompt);
        (self.boot_prompt_problem, self.boot_prompt_progress) = (None, None);
    }
}

/// How far the delivery of a pending prompt got, stored before the keys are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptProgress {
    pub stage: PromptStage,
    pub at: Timestamp,
}

/// What is about to be done with a pending prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptStage {
    /// It is pasted into the input.
    Typing,
    /// Enter is pressed.
    Sending,
}

/// A spec for an agent on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecReceipt {
    pub id: String,
    pub kind: SpecType,
    /// The text for the agent.
    pub prompt: String,
    /// The files it claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned_files: Vec<String>,
}

/// An agent: a CLI in a worktree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentReceipt {
    pub branch: BranchName,
    pub worktree_path: PathBuf,
    pub cli: String,
    /// The session created the branch, so it may also delete it.
    #[serde(default)]
    pub branch_created: bool,
    /// Its worktree is about to be created. A command that was killed leaves this; then only the registry knows whether the
    /// branch was created, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Missing in receipts of other versions; [`Receipt::agent_ids`] fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The shell line that starts the CLI, approval flags included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The spec that the agent works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The content of the spec, if the hub sent it. The repository here may not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_spec: Option<SpecReceipt>,
    /// The task that the user gave the agent at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The first prompt of the agent, also after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt: Option<String>,
    /// The first prompt until it is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_boot_prompt: Option<String>,
    /// Why the prompt was not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt_problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_prompt_progress: Option<PromptProgress>,
    /// The id of its conversation in the CLI, to resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The settings file of its CLI in the worktree, if it is not the default one.
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
            unfinished: false,
            agent_id: None,
            command: None,
            spec: None,
            sent_spec: None,
            task: None,
            boot_prompt: None,
            pending_boot_prompt: None,
            boot_prompt_problem: None,
            boot_prompt_progress: None,
            conversation: None,
            settings_path: None,
            unknown: Map::new(),
        }
    }

    /// Marks the first prompt to be delivered.
    pub fn queue_boot_prompt(&mut self) {
        self.pending_boot_prompt.clone_from(&self.boot_prompt);
        (self.boot_prompt_problem, self.boot_prompt_progress) = (None, None);
    }
}

/// A session as stored on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// 0 for a session from before formats were numbered, whose tmux session has no identifying options. It stays 0 until
    /// the session is rebuilt.
    #[serde(default)]
    pub format: u32,
    pub session_name: SessionName,
    pub repo_path: PathBuf,
    pub project_name: String,
    pub created_at: Timestamp,
    pub status: SessionStatus,
    #[serde(default)]
    pub mode: SessionMode,
    /// A command attends its agents instead of a supervisor, so they start as in supervisor mode.
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
    /// The index of the dashboard pane at start. Panes are found by their options, never by this index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_pane: Option<u32>,
    #[serde(default = "yes")]
    pub mouse: bool,
    /// Pane borders show the branch and the state of the agent.
    #[serde(default = "yes")]
    pub borders: bool,
    #[serde(default = "grid", skip_serializing_if = "is_grid")]
    pub layout: LayoutMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux_socket: Option<String>,
    /// The session id in its messages, if the session was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_id: Option<String>,
    /// Set if the session uses several machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterReceipt>,
    /// Fields of other versions and programs.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

fn grid() -> LayoutMode {
    LayoutMode::Grid
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_grid(layout: &LayoutMode) -> bool {
    *layout == LayoutMode::Grid
}

fn yes() -> bool {
    true
}

impl Receipt {
    /// A session without agents and without a broker.
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
            layout: LayoutMode::Grid,
            log_dir: None,
            tmux_socket: None,
            original_id: None,
            cluster: None,
            unknown: Map::new(),
        }
    }

    /// Parses a receipt of this version, of an older one, or without a format number.
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

    /// Other programs look for `broker_enabled`; we read it only in receipts without an address.
    pub fn to_text(&self) -> Result<String, ReceiptError> {
        let mut value = serde_json::to_value(self).map_err(ReceiptError::Unwritable)?;
        if self.has_broker() {
            value["broker_enabled"] = true.into();
        }
        let mut text = serde_json::to_string_pretty(&value).map_err(ReceiptError::Unwritable)?;
        text.push('\n');
        Ok(text)
    }

    /// The session id in messages. Unique even if a later session has the same name.
    pub fn session_id(&self) -> String {
        self.original_id.clone().unwrap_or_else(|| {
            format!("{}@{}", self.session_name, self.created_at.strftime("%Y%m%dT%H%M%SZ"))
        })
    }

    pub fn has_broker(&self) -> bool {
        self.broker_port.is_some()
    }

    /// The URL of the broker, if the session has one.
    pub fn broker_url(&self) -> Option<String> {
        let bind = self.broker_bind.as_deref().unwrap_or(OLD_BIND);
        let host = if bind.contains(':') { format!("[{bind}]") } else { bind.to_owned() };
        self.broker_port.map(|port| format!("http://{host}:{port}"))
    }

    /// The ids of the agents, in order. A missing id is generated as for a new agent.
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

    /// The agent that a person means by `name`, with its id.
    pub fn find_named(&self, name: &str) -> Result<(&AgentReceipt, AgentId), AgentLookupError> {
        let ids = self.agent_ids();
        let pairs: Vec<_> =
            ids.iter().zip(&self.worktrees).map(|(id, agent)| (id.as_str(), agent.branch.as_str())).collect();
        match find_agent(name, &pairs) {
            Ok(index) => Ok((&self.worktrees[index], ids[index].clone())),
            Err(unknown @ AgentLookupError::Unknown { .. }) => match self.find_elsewhere(name) {
                Some(agent) => {
                    let (name, host) = (agent.branch.to_string(), agent.host.clone());
                    Err(AgentLookupError::Elsewhere { name, host })
                }
                None => Err(unknown),
            },
            Err(error) => Err(error),
        }
    }

    /// Whether this machine warns two agents about conflicts between them. Only one does.
    pub fn judges(&self, first: &AgentId, second: &AgentId) -> bool {
        match &self.cluster {
            None => true,
            Some(cluster) if cluster.is_hub() => !cluster.are_both_on_one_host(first, second),
            Some(_) => {
                let own = self.agent_ids();
                own.contains(first) && own.contains(second)
            }
        }
    }

    /// The agents on other machines.
    pub fn remote_agents(&self) -> &[RemoteAgentReceipt] {
        self.cluster.as_ref().map_or(&[], |cluster| cluster.agents.as_slice())
    }

    /// The agent on another machine that a person means by `name`.
    pub fn find_elsewhere(&self, name: &str) -> Option<&RemoteAgentReceipt> {
        let agents = self.remote_agents();
        let pairs: Vec<_> =
            agents.iter().map(|agent| (agent.agent_id.as_str(), agent.branch.as_str())).collect();
        find_agent(name, &pairs).ok().map(|index| &agents[index])
    }

    /// The id of the agent that a person means by `name`, or of the supervisor.
    pub fn find_id(&self, name: &str) -> Result<AgentId, AgentLookupError> {
        if self.supervisor.is_some() && name == AgentId::SUPERVISOR {
            return Ok(AgentId::supervisor());
        }
        self.find_named(name).map(|(_, id)| id)
    }

    /// Whether a supervisor or a command answers for its agents.
    pub fn is_looked_after(&self) -> bool {
        self.has_supervisor() || self.unattended || self.hub_supervision().is_some()
    }

    /// Whether its agents have a supervisor, on this machine or on the hub.
    pub fn has_supervisor(&self) -> bool {
        let has_hub_supervisor = self.hub_supervision().is_some_and(|hub| !hub.unattended);
        self.mode == SessionMode::Supervisor || has_hub_supervisor
    }

    /// How the hub looks after the agents here, if this is another machine of its session.
    pub fn hub_supervision(&self) -> Option<&HubSupervision> {
        self.cluster.as_ref().filter(|cluster| !cluster.is_hub())?.supervision.as_ref()
    }

    /// The real status: a session is running only if tmux has it.
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
