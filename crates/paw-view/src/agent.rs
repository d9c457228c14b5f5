//! The state of an agent.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_broker::record::{AgentRecord, StateKind};
use paw_core::{AgentId, BranchName, HostName};
use serde::{Deserialize, Serialize};

use crate::check::{BranchTip, CommitCheck, TipVerification};

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
    /// The tip of its branch. Missing if the reader of the view did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<BranchTip>,
    /// What its conversation has used, as its CLI reports. Missing if the CLI does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<AgentUsage>,
}

/// The tokens and the cost of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentUsage {
    /// The size of the conversation: what the model reads and writes in one step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Everything the conversation has used since it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// In millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd_micros: Option<u64>,
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
    /// The machine it runs on. Missing for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<MemberHost>,
}

/// The other machine that an agent runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberHost {
    pub name: HostName,
    /// Missing before the first connection.
    #[serde(flatten)]
    pub reach: Option<HostReach>,
}

/// Whether a machine can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReach {
    #[serde(rename = "reachable")]
    pub is_reachable: bool,
    pub since: Timestamp,
    /// Why it cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl MemberHost {
    /// Since when the machine cannot be reached.
    pub fn unreachable_since(&self) -> Option<Timestamp> {
        self.reach.as_ref().filter(|reach| !reach.is_reachable).map(|reach| reach.since)
    }
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

    /// The state in words, for a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::WaitingApproval => "needs approval",
            Self::WaitingInput => "needs input",
            Self::RateLimited => "rate-limited",
            // Nothing is known about a CLI whose screen is not recognized, except that it runs.
            Self::Unknown => "running",
            other => other.name(),
        }
    }

    fn category(self) -> StatusCategory {
        match self {
            Self::Starting | Self::Working | Self::Unknown => StatusCategory::Working,
            Self::WaitingApproval | Self::WaitingInput | Self::RateLimited => StatusCategory::Blocked,
            Self::Exited => StatusCategory::Failed,
            Self::Idle => StatusCategory::Idle,
        }
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
            host: None,
        }
    }
}

impl AgentView {
    /// The other machine it runs on.
    pub fn host(&self) -> Option<&MemberHost> {
        self.member.as_ref()?.host.as_ref()
    }

    pub fn new(id: AgentId) -> Self {
        Self {
            id,
            member: None,
            observed: None,
            reported: None,
            last_message: String::new(),
            plan: None,
            checks: Vec::new(),
            usage: None,
            tip: None,
        }
    }

    pub fn is_supervisor(&self) -> bool {
        self.id.as_str() == AgentId::SUPERVISOR
    }

    /// Whether the session started it, in a pane: an agent, or the supervisor.
    pub fn is_started(&self) -> bool {
        self.member.is_some() || self.is_supervisor()
    }

    /// Whether lists of agents show it: a member, or a sender that reported its status. The user is not an agent.
    pub fn is_listed(&self) -> bool {
        self.member.is_some() || self.reported.is_some() && self.id.as_str() != AgentId::OPERATOR
    }

    pub fn branch(&self) -> Option<&BranchName> {
        self.member.as_ref().map(|member| &member.branch)
    }

    /// The CLI that its messages report, else the one it was started with; empty if unknown.
    pub fn cli(&self) -> &str {
        let reported = self.reported.as_ref().and_then(|record| record.cli.as_deref());
        reported.or(self.member.as_ref().map(|member| member.cli.as_str())).unwrap_or_default()
    }

    /// The CLI, with the machine it runs on if that is another one.
    pub fn cli_and_host(&self) -> String {
        self.host().map_or_else(|| self.cli().to_owned(), |host| format!("{}@{}", self.cli(), host.name))
    }

    pub fn files(&self) -> &[String] {
        self.reported.as_ref().map(|record| record.modified_files.as_slice()).unwrap_or_default()
    }

    /// Missing before its first message.
    pub fn last_seen(&self) -> Option<Timestamp> {
        self.reported.as_ref().map(|record| record.last_seen)
    }

    /// Its status in one or two words, the same in every view. What the agent waits for comes first, then what its messages
    /// report, then what was observed. A label of its messages holds until the next one; while it works, its phase is more
    /// specific than "working". An agent at an empty prompt is idle, even if its changed files look like work. It is
    /// verified only if the tip of its branch is.
    pub fn status(&self) -> (StatusCategory, &str) {
        if self.host().is_some_and(|host| host.unreachable_since().is_some()) {
            return (StatusCategory::Blocked, "unreachable");
        }
        let seen = self.observed.as_ref().map(|seen| seen.state);
        if let Some(stuck) = seen.filter(|state| state.is_stuck()) {
            return (stuck.category(), stuck.word());
        }
        let process = self.member.as_ref().and_then(|member| member.process);
        if process == Some(CliState::Ended) {
            return (AgentState::Exited.category(), AgentState::Exited.word());
        }
        let label = self.reported.as_ref().map(|record| (StatusCategory::of(&record.status), record));
        match (label, seen) {
            (Some((StatusCategory::Working | StatusCategory::Idle, record)), seen) => activity(record, seen),
            (Some((_, record)), _) if self.has_regressed(record) => (StatusCategory::Failed, "gates failed"),
            (Some((StatusCategory::Verified, _)), _) => {
                let verified = self.verification().map(TipVerification::status);
                verified.unwrap_or((StatusCategory::Committed, "committed"))
            }
            (Some((category, record)), _) => (category, &record.status),
            (None, Some(state)) => (state.category(), state.word()),
            (None, None) if process == Some(CliState::Starting) => (StatusCategory::Working, "starting"),
            (None, None) => (StatusCategory::Idle, "unknown"),
        }
    }

    /// Since when it has this status.
    pub fn since(&self) -> Option<Timestamp> {
        if let Some(since) = self.host().and_then(MemberHost::unreachable_since) {
            return Some(since);
        }
        let stuck = self.observed.as_ref().filter(|seen| seen.state.is_stuck());
        let seen = || self.observed.as_ref().map(|seen| seen.since);
        stuck.map(|seen| seen.since).or_else(|| self.last_seen()).or_else(seen)
    }

    /// Whether a check of its work failed since it was last committed.
    fn has_regressed(&self, record: &AgentRecord) -> bool {
        let committed = record.state.get(&StateKind::Artifact).copied().unwrap_or(0);
        self.checks.last().is_some_and(|check| !check.passed && check.seq > committed)
    }

    /// Keeps the newer of two observations. A continuing state keeps its start time.
    pub(crate) fn observe(&mut self, mut observation: Observation) -> bool {
        if let Some(before) = &self.observed {
            if before.at > observation.at {
                return false;
            }
            let is_same_wait = before.waits_for.is_none() || before.waits_for == observation.waits_for;
            if before.state == observation.state && is_same_wait {
                observation.since = observation.since.min(before.since);
            }
        }
        let changed = self.observed.as_ref() != Some(&observation);
        self.observed = Some(observation);
        changed
    }
}

/// The word for an agent that works or rests. The phase of its messages is used unless it is an older observation.
fn activity(record: &AgentRecord, seen: Option<AgentState>) -> (StatusCategory, &str) {
    let category = StatusCategory::of(&record.status);
    let phase = record.phase.as_deref().filter(|phase| !phase.trim().is_empty());
    match (phase.map(|phase| (phase, AgentState::find(phase))), seen) {
        (Some((phase, None)), _) => (category, phase),
        (Some((_, Some(_))) | None, Some(state)) | (Some((_, Some(state))), None) => {
            (state.category(), state.word())
        }
        (None, None) => (category, &record.status),
    }
}
