//! The state of an agent.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_broker::record::AgentRecord;
use paw_core::{AgentId, BranchName};
use serde::{Deserialize, Serialize};

use crate::check::CommitCheck;

/// An agent of the session, or another sender of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    #[serde(rename = "agent_id")]
    pub id: AgentId,
    /// Missing for a sender that is not a member of the session.
    #[serde(flatten)]
    pub member: Option<SessionMember>,
    /// What it is doing, as observed.
    pub observed: Option<Observation>,
    /// What its messages report. Missing before the first one.
    pub reported: Option<AgentRecord>,
    /// Its latest message about itself.
    pub last_message: String,
    /// Its announced plan, which may have expired.
    pub plan: Option<AnnouncedPlan>,
    /// The latest checks of its commits, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CommitCheck>,
}

/// An agent according to the receipt, tmux and the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMember {
    pub branch: BranchName,
    pub cli: String,
    /// This and the following are missing while only branch and CLI are known.
    pub worktree_path: Option<PathBuf>,
    pub worktree: Option<WorktreeState>,
    pub pane: Option<String>,
    #[serde(rename = "state")]
    pub process: Option<CliState>,
    #[serde(flatten)]
    pub prompt: Option<PromptDelivery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

/// The agents of a session, in their order.
pub type SessionMembers = Vec<(AgentId, SessionMember)>;

/// Whether the CLI runs in its pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CliState {
    /// The session has just started; the shell may not have started the CLI yet.
    Starting,
    Running,
    /// The CLI has exited and only a shell is left in the pane.
    Ended,
    /// It has no pane.
    Absent,
}

/// The delivery of the first prompt of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "prompt", rename_all = "lowercase")]
pub enum PromptDelivery {
    Delivered,
    Pending,
    /// It failed and is retried at the next start.
    Failed {
        prompt_problem: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeState {
    Present,
    /// Its directory is gone.
    Missing,
    /// The directory exists but is not a worktree.
    NotAWorktree,
    OtherBranch(String),
    Detached,
}

impl fmt::Display for WorktreeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present => f.write_str("present"),
            Self::Missing => f.write_str("missing"),
            Self::NotAWorktree => f.write_str("not a worktree"),
            Self::OtherBranch(branch) => write!(f, "on {branch}"),
            Self::Detached => f.write_str("detached"),
        }
    }
}

/// An observed state of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub state: AgentState,
    pub since: Timestamp,
    /// The time of the last observation.
    pub at: Timestamp,
    pub source: StateSource,
    pub reason: String,
    /// The command or the edit that needs an approval.
    pub waits_for: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    Starting,
    Working,
    WaitingApproval,
    /// Waits for an answer of the user in its pane.
    WaitingInput,
    Idle,
    RateLimited,
    Exited,
    Unknown,
}

impl AgentState {
    const ALL: [Self; 8] = [
        Self::Starting,
        Self::Working,
        Self::WaitingApproval,
        Self::WaitingInput,
        Self::Idle,
        Self::RateLimited,
        Self::Exited,
        Self::Unknown,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingInput => "waiting_input",
            Self::Idle => "idle",
            Self::RateLimited => "rate_limited",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }

    /// The state of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether the agent cannot continue without help.
    pub fn is_stuck(self) -> bool {
        matches!(self, Self::WaitingApproval | Self::WaitingInput | Self::RateLimited | Self::Exited)
    }
}

impl fmt::Display for AgentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The source of an observed state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateSource {
    /// Reported by the hooks of the CLI.
    Hooks,
    Process,
    Screen,
    /// The session's process observed it and published a message.
    Messages,
    Nothing,
}

impl fmt::Display for StateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hooks => "hooks",
            Self::Process => "process",
            Self::Screen => "screen",
            Self::Messages => "messages",
            Self::Nothing => "nothing",
        })
    }
}

/// Files that an agent announced to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedPlan {
    pub files: Vec<String>,
    pub summary: String,
    pub announced: Timestamp,
    pub until: Timestamp,
}

/// The category of an agent's status, which determines its symbol and colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusCategory {
    Working,
    Committed,
    Done,
    Verified,
    Blocked,
    Failed,
    Idle,
}

impl StatusCategory {
    /// The category of a status word.
    pub fn of(status: &str) -> Self {
        match status {
            "working" | "auto_approved" => Self::Working,
            "committed" => Self::Committed,
            "done" | "complete" | "pass" | "passed" => Self::Done,
            "verified" => Self::Verified,
            "blocked" | "waiting" => Self::Blocked,
            "failed" | "fail" | "error" | "stuck" => Self::Failed,
            _ => Self::Idle,
        }
    }
}

impl SessionMember {
    /// A member with only its branch and CLI.
    pub fn new(branch: BranchName, cli: impl Into<String>) -> Self {
        Self {
            branch,
            cli: cli.into(),
            worktree_path: None,
            worktree: None,
            pane: None,
            process: None,
            prompt: None,
            spec: None,
        }
    }
}

impl AgentView {
    pub fn new(id: AgentId) -> Self {
        Self {
            id,
            member: None,
            observed: None,
            reported: None,
            last_message: String::new(),
            plan: None,
            checks: Vec::new(),
        }
    }

    pub fn is_supervisor(&self) -> bool {
        self.id.as_str() == AgentId::SUPERVISOR
    }

    /// Whether lists of agents show it: a member, or a sender that reported its status.
    pub fn is_listed(&self) -> bool {
        self.member.is_some() || self.reported.is_some()
    }

    pub fn branch(&self) -> Option<&BranchName> {
        self.member.as_ref().map(|member| &member.branch)
    }

    /// The CLI that its messages report, else the one it was started with; empty if unknown.
    pub fn cli(&self) -> &str {
        let reported = self.reported.as_ref().and_then(|record| record.cli.as_deref());
        reported.or(self.member.as_ref().map(|member| member.cli.as_str())).unwrap_or_default()
    }

    pub fn files(&self) -> &[String] {
        self.reported.as_ref().map(|record| record.modified_files.as_slice()).unwrap_or_default()
    }

    /// Missing before its first message.
    pub fn last_seen(&self) -> Option<Timestamp> {
        self.reported.as_ref().map(|record| record.last_seen)
    }

    /// Its status in one word. While it works, its phase is more specific than "working". An agent at an empty prompt is
    /// idle, even if its changed files look like work.
    pub fn status(&self) -> (StatusCategory, &str) {
        let Some(record) = &self.reported else { return (StatusCategory::Idle, "idle") };
        let mood = StatusCategory::of(&record.status);
        match &record.phase {
            Some(phase)
                if matches!(mood, StatusCategory::Working | StatusCategory::Idle)
                    && !phase.trim().is_empty() =>
            {
                (if phase == "idle" { StatusCategory::Idle } else { mood }, phase)
            }
            _ => (mood, &record.status),
        }
    }

    /// Keeps the newer of two observations. A continuing state keeps its start time.
    pub(crate) fn observe(&mut self, mut observation: Observation) -> bool {
        if let Some(before) = &self.observed {
            if before.at > observation.at {
                return false;
            }
            if before.state == observation.state && before.waits_for == observation.waits_for {
                observation.since = observation.since.min(before.since);
            }
        }
        let changed = self.observed.as_ref() != Some(&observation);
        self.observed = Some(observation);
        changed
    }
}
