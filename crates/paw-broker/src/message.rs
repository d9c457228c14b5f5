//! Every message there is. Pure: JSON in, a checked [`Message`] out, and back without losing a field.
//!
//! - [`Message::parse`] reads and checks one; what it does not know it keeps in [`Extra`]
//! - [`Message::to_json`] writes it
//! - its `Display` is one line for people, safe to put on a terminal
//! - [`Region`]: the part of a file that an intent names

mod display;
mod error;
mod fields;
mod parse;
mod region;
mod render;

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use serde_json::{Map, Value};

pub use error::MessageError;
pub use fields::{agent_id, is_placeholder};
pub use region::{IntentFile, Region};

/// Fields that nobody here knows, at both levels. They are given back as they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extra {
    /// Beside `type`, `agent_id` and `payload`.
    pub envelope: Map<String, Value>,
    /// Inside `payload`.
    pub payload: Map<String, Value>,
}

/// One message, as an agent, the person at the keyboard or one of our own loops sends it.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Status(Status),
    Artifact(Artifact),
    Blocked(Blocked),
    Verified(Verified),
    Feedback(Feedback),
    Question(Question),
    Intent(Intent),
    AdvancedMain(AdvancedMain),
    Learning(Learning),
    VerifyNow(VerifyNow),
    Answer(Answer),
}

/// `agent.status`: what an agent is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub agent_id: AgentId,
    pub status: String,
    /// Nothing when the message says nothing about files, which is not the same as "no files".
    pub modified_files: Option<Vec<String>>,
    pub message: Option<String>,
    pub cli: Option<String>,
    pub phase: Option<String>,
    pub detail: Option<Value>,
    pub extra: Extra,
}

/// `agent.artifact`: an agent finished or committed something.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    pub agent_id: AgentId,
    pub status: String,
    pub exports: Vec<String>,
    pub modified_files: Vec<String>,
    pub extra: Extra,
}

/// `agent.blocked`: an agent waits for another.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    pub agent_id: AgentId,
    pub needs: String,
    /// Who can unblock it.
    pub from: AgentId,
    pub extra: Extra,
}

/// `agent.verified`: somebody checked the work of `agent_id`.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub agent_id: AgentId,
    pub verified_by: AgentId,
    pub message: Option<String>,
    /// The commit that was checked.
    pub commit: Option<String>,
    pub extra: Extra,
}

/// `agent.feedback`: something for `agent_id` to mend.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    pub agent_id: AgentId,
    pub from: AgentId,
    pub errors: Vec<String>,
    pub extra: Extra,
}

/// `agent.question`: an agent wants to know something.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub agent_id: AgentId,
    pub question: String,
    pub extra: Extra,
}

/// `agent.intent`: what an agent is about to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub agent_id: AgentId,
    pub files: Vec<IntentFile>,
    pub summary: String,
    pub valid_for_seconds: u64,
    pub extra: Extra,
}

/// `agent.advanced-main`: a branch was merged. Its fields stand beside `type`, without a `payload`.
#[derive(Debug, Clone, PartialEq)]
pub struct AdvancedMain {
    pub from: AgentId,
    pub merged_branch: String,
    pub new_main_sha: String,
    pub base: String,
    /// RFC 3339, as it came.
    pub merged_at: String,
    pub summary: Option<String>,
    pub extra: Extra,
}

/// `agent.learning`: something the session taught. Its sender stands in the payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    pub agent_id: AgentId,
    pub id: Option<String>,
    pub branch_id: Option<AgentId>,
    pub category: String,
    pub title: String,
    pub body: Value,
    pub timestamp: String,
    pub extra: Extra,
}

/// `supervisor.verify-now`: a commit is there to be checked.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyNow {
    pub branch_id: AgentId,
    pub extra: Extra,
}

/// `agent.answer`: the answer to a question of `agent_id`.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub agent_id: AgentId,
    pub from: AgentId,
    pub answer: String,
    /// What it answers: the question's text, or its sequence number.
    pub re: Option<String>,
    pub extra: Extra,
}

impl Message {
    /// The wire names of all types, in the order they are listed to people.
    pub const TYPES: [&str; 11] = [
        Status::TYPE,
        Artifact::TYPE,
        Blocked::TYPE,
        Verified::TYPE,
        Feedback::TYPE,
        Question::TYPE,
        Intent::TYPE,
        AdvancedMain::TYPE,
        Learning::TYPE,
        VerifyNow::TYPE,
        Answer::TYPE,
    ];

    /// The wire name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Status(_) => Status::TYPE,
            Self::Artifact(_) => Artifact::TYPE,
            Self::Blocked(_) => Blocked::TYPE,
            Self::Verified(_) => Verified::TYPE,
            Self::Feedback(_) => Feedback::TYPE,
            Self::Question(_) => Question::TYPE,
            Self::Intent(_) => Intent::TYPE,
            Self::AdvancedMain(_) => AdvancedMain::TYPE,
            Self::Learning(_) => Learning::TYPE,
            Self::VerifyNow(_) => VerifyNow::TYPE,
            Self::Answer(_) => Answer::TYPE,
        }
    }

    /// Who sent it. Which field says so depends on the type; nothing for a nudge, which nobody signs.
    pub fn sender(&self) -> Option<&AgentId> {
        match self {
            Self::Status(message) => Some(&message.agent_id),
            Self::Artifact(message) => Some(&message.agent_id),
            Self::Blocked(message) => Some(&message.agent_id),
            Self::Verified(message) => Some(&message.verified_by),
            Self::Feedback(message) => Some(&message.from),
            Self::Question(message) => Some(&message.agent_id),
            Self::Intent(message) => Some(&message.agent_id),
            Self::AdvancedMain(message) => Some(&message.from),
            Self::Learning(message) => Some(&message.agent_id),
            Self::VerifyNow(_) => None,
            Self::Answer(message) => Some(&message.from),
        }
    }

    /// The agent it is about: whose work, question or branch.
    pub fn subject(&self) -> &AgentId {
        match self {
            Self::Status(message) => &message.agent_id,
            Self::Artifact(message) => &message.agent_id,
            Self::Blocked(message) => &message.agent_id,
            Self::Verified(message) => &message.agent_id,
            Self::Feedback(message) => &message.agent_id,
            Self::Question(message) => &message.agent_id,
            Self::Intent(message) => &message.agent_id,
            Self::AdvancedMain(message) => &message.from,
            Self::Learning(message) => &message.agent_id,
            Self::VerifyNow(message) => &message.branch_id,
            Self::Answer(message) => &message.agent_id,
        }
    }

    /// The word a person reads in a list: the status an agent gave, or the kind of message.
    pub fn label(&self) -> &str {
        match self {
            Self::Status(message) => &message.status,
            Self::Artifact(message) => &message.status,
            Self::Blocked(_) => "blocked",
            Self::Verified(_) => "verified",
            Self::Feedback(_) => "feedback",
            Self::Question(_) => "question",
            Self::Intent(_) => "intent",
            Self::AdvancedMain(_) => "advanced-main",
            Self::Learning(_) => "learning",
            Self::VerifyNow(_) => "verify-now",
            Self::Answer(_) => "answer",
        }
    }
}

impl Status {
    pub const TYPE: &'static str = "agent.status";

    pub fn new(agent_id: AgentId, status: impl Into<String>) -> Self {
        Self {
            agent_id,
            status: status.into(),
            modified_files: None,
            message: None,
            cli: None,
            phase: None,
            detail: None,
            extra: Extra::default(),
        }
    }

    /// The files it names, if any.
    pub fn files(&self) -> &[String] {
        self.modified_files.as_deref().unwrap_or_default()
    }
}

impl Artifact {
    pub const TYPE: &'static str = "agent.artifact";
    /// The status of an artifact that a commit hook sends.
    pub const COMMITTED: &'static str = "committed";

    pub fn new(agent_id: AgentId, status: impl Into<String>) -> Self {
        Self {
            agent_id,
            status: status.into(),
            exports: Vec::new(),
            modified_files: Vec::new(),
            extra: Extra::default(),
        }
    }
}

impl Blocked {
    pub const TYPE: &'static str = "agent.blocked";

    pub fn new(agent_id: AgentId, needs: impl Into<String>, from: AgentId) -> Self {
        Self { agent_id, needs: needs.into(), from, extra: Extra::default() }
    }
}

impl Verified {
    pub const TYPE: &'static str = "agent.verified";

    pub fn new(agent_id: AgentId, verified_by: AgentId) -> Self {
        Self { agent_id, verified_by, message: None, commit: None, extra: Extra::default() }
    }
}

impl Feedback {
    pub const TYPE: &'static str = "agent.feedback";

    pub fn new(agent_id: AgentId, from: AgentId, errors: Vec<String>) -> Self {
        Self { agent_id, from, errors, extra: Extra::default() }
    }
}

impl Question {
    pub const TYPE: &'static str = "agent.question";

    pub fn new(agent_id: AgentId, question: impl Into<String>) -> Self {
        Self { agent_id, question: question.into(), extra: Extra::default() }
    }
}

impl Intent {
    pub const TYPE: &'static str = "agent.intent";
    /// How long an intent holds that does not say.
    pub const DEFAULT_SECONDS: u64 = 3600;

    pub fn new(agent_id: AgentId, files: Vec<IntentFile>, summary: impl Into<String>) -> Self {
        let summary = summary.into();
        Self { agent_id, files, summary, valid_for_seconds: Self::DEFAULT_SECONDS, extra: Extra::default() }
    }

    /// When an intent that was received `at` ceases to hold.
    pub fn expires(&self, at: Timestamp) -> Timestamp {
        let seconds = i64::try_from(self.valid_for_seconds).unwrap_or(i64::MAX);
        at.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
    }
}

impl AdvancedMain {
    pub const TYPE: &'static str = "agent.advanced-main";
}

impl Learning {
    pub const TYPE: &'static str = "agent.learning";
}

impl VerifyNow {
    pub const TYPE: &'static str = "supervisor.verify-now";

    pub fn new(branch_id: AgentId) -> Self {
        Self { branch_id, extra: Extra::default() }
    }
}

impl Answer {
    pub const TYPE: &'static str = "agent.answer";

    pub fn new(agent_id: AgentId, from: AgentId, answer: impl Into<String>) -> Self {
        Self { agent_id, from, answer: answer.into(), re: None, extra: Extra::default() }
    }
}

macro_rules! is_a_message {
    ($($name:ident),+) => {$(
        impl From<$name> for Message {
            fn from(message: $name) -> Self {
                Self::$name(message)
            }
        }
    )+};
}

is_a_message!(
    Status,
    Artifact,
    Blocked,
    Verified,
    Feedback,
    Question,
    Intent,
    AdvancedMain,
    Learning,
    VerifyNow,
    Answer
);
