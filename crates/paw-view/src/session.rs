//! The whole session.

use std::collections::VecDeque;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_core::{AgentId, SessionMode, SessionStatus};
use serde::{Deserialize, Serialize};

use crate::agent::{AgentView, CliState, PromptDelivery};
use crate::conflict::ConflictView;
use crate::message::MessageView;
use crate::question::OpenQuestion;

/// What is known about a session. [`SessionView::apply`] keeps it current.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    #[serde(flatten)]
    pub session: SessionFacts,
    /// The supervising agent as the session was started; its messages are with the agents.
    pub supervisor: Option<SupervisorView>,
    /// Members in the order of the session, then other senders by id.
    pub agents: Vec<AgentView>,
    /// Open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    pub conflicts: Vec<ConflictView>,
    /// The newest messages, oldest first.
    pub messages: VecDeque<MessageView>,
    /// Messages kept at most.
    pub max_messages: usize,
    /// The newest message that was applied.
    pub last_seq: u64,
    /// What agents report holds every message up to here.
    pub recorded_seq: u64,
}

/// Which session it is, and how it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Its name; as a broker tells it, the name with its start time.
    pub session: String,
    pub repository: PathBuf,
    /// This and the following are missing where only a broker is known.
    pub status: Option<SessionStatus>,
    /// The status in the receipt; differs when tmux or the machine has ended since.
    pub recorded: Option<SessionStatus>,
    pub tmux_running: Option<bool>,
    pub mode: Option<SessionMode>,
    pub created_at: Option<Timestamp>,
    pub broker: Option<BrokerView>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerView {
    /// Where it answers; where it would, when it does not run.
    pub url: Option<String>,
    pub port: Option<u16>,
    pub running: bool,
    /// The pane it runs in.
    pub pane: Option<String>,
    /// It does not check who a sender is. Missing where it was not asked.
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
