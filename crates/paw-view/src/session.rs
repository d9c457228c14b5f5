//! The state of a session.

use std::collections::VecDeque;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_core::{AgentId, SessionMode, SessionStatus};
use serde::{Deserialize, Serialize};

use crate::agent::{AgentView, CliState, PromptDelivery};
use crate::conflict::ConflictView;
use crate::message::MessageView;
use crate::question::OpenQuestion;

/// The state of a session. [`SessionView::apply`] updates it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    #[serde(flatten)]
    pub session: SessionFacts,
    /// The supervisor that the session was started with. Its messages are in `agents`.
    pub supervisor: Option<SupervisorView>,
    /// Members in the order of the session, then other senders by id.
    pub agents: Vec<AgentView>,
    /// Open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    pub conflicts: Vec<ConflictView>,
    /// The newest messages, oldest first.
    pub messages: VecDeque<MessageView>,
    /// The maximum length of `messages`.
    pub max_messages: usize,
    /// The sequence number of the latest applied message.
    pub last_seq: u64,
    /// `reported` of the agents includes every message up to this one.
    pub recorded_seq: u64,
}

/// The identity and status of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Its name; from a broker, the name with its start time.
    pub session: String,
    pub repository: PathBuf,
    /// This and the following are missing if only a broker is known.
    pub status: Option<SessionStatus>,
    /// The status in the receipt, which may be outdated if tmux has stopped since.
    pub recorded: Option<SessionStatus>,
    pub tmux_running: Option<bool>,
    pub mode: Option<SessionMode>,
    pub created_at: Option<Timestamp>,
    pub broker: Option<BrokerView>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerView {
    /// Its URL, even if it is not running.
    pub url: Option<String>,
    pub port: Option<u16>,
    pub running: bool,
    /// The pane of the session's dashboard.
    pub pane: Option<String>,
    /// The process that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Why it is not running although it should, or what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// It does not authenticate senders. Missing if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_to_all: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorView {
    pub cli: String,
    pub pane: Option<String>,
    pub state: CliState,
    #[serde(flatten)]
    pub prompt: PromptDelivery,
}

impl SessionView {
    /// An empty view that keeps this many messages.
    pub fn new(max_messages: usize) -> Self {
        Self { max_messages, ..Self::default() }
    }

    pub fn find(&self, id: &AgentId) -> Option<&AgentView> {
        self.agents.iter().find(|agent| agent.id == *id)
    }

    /// The agents that lists show.
    pub fn listed(&self) -> impl Iterator<Item = &AgentView> {
        self.agents.iter().filter(|agent| agent.is_listed())
    }
}
