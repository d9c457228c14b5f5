//! One agent.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_broker::record::AgentRecord;
use paw_core::{AgentId, BranchName};
use serde::{Deserialize, Serialize};

use crate::check::CommitCheck;

/// An agent of the session, or another sender that messages tell of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    #[serde(rename = "agent_id")]
    pub id: AgentId,
    /// Missing for a sender that the session was not started with.
    #[serde(flatten)]
    pub member: Option<SessionMember>,
    /// What it is doing, from evidence.
    pub observed: Option<Observation>,
    /// What its messages report. Missing before the first one.
    pub reported: Option<AgentRecord>,
    /// Its newest words about itself.
    pub last_message: String,
    /// The files it announced to change, which may have expired.
    pub plan: Option<AnnouncedPlan>,
    /// The newest verdicts on its commits, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CommitCheck>,
}

/// What a receipt, tmux and the disk say about an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMember {
    pub branch: BranchName,
    pub cli: String,
    /// This and the following are missing while only the name of the agent is known.
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
    /// The session is so young that its shell may not have started the CLI yet.
    Starting,
    Running,
    /// Only a shell is left in its pane.
    Ended,
    /// It has no pane.
    Absent,
}

/// What became of the prompt that an agent is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "prompt", rename_all = "lowercase")]
pub enum PromptDelivery {
    Delivered,
    Pending,
    /// It failed, and is tried again at the next start.
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
    /// There is a directory, but it is not a worktree.
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

/// What an agent was seen doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub state: AgentState,
    pub since: Timestamp,
    /// When it was last observed.
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
    /// For an answer that only a person can give, in its pane.
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

/// Where a state was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateSource {
    /// The CLI reports it.
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

/// The files that an agent announced to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedPlan {
    pub files: Vec<String>,
    pub summary: String,
    pub announced: Timestamp,
    pub until: Timestamp,
}

/// What an agent's status means to a person; it decides symbol and colour.
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
    /// What a status word of an agent means.
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
    /// A member of which only branch and CLI are known.
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

    /// The CLI as its messages name it, else as the session was started; empty if neither says.
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

    /// Its status in one word. While it works, its own word for its phase says more than "working". An agent before its
    /// empty input is idle, even though its changed files look like work.
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

    /// Keeps the newer of two observations. A state that continues keeps its beginning.
    pub(crate) fn observe(&mut self, mut seen: Observation) -> bool {
        if let Some(before) = &self.observed {
            if before.at > seen.at {
                return false;
            }
            if before.state == seen.state && before.waits_for == seen.waits_for {
                seen.since = seen.since.min(before.since);
            }
        }
        let changed = self.observed.as_ref() != Some(&seen);
        self.observed = Some(seen);
        changed
    }
}
