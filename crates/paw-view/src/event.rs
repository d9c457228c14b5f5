//! The input of a view.

use std::sync::Arc;

use paw_broker::StoredMessage;
use paw_broker::record::AgentRecords;
use paw_core::AgentId;

use crate::agent::{Observation, SessionMembers};
use crate::check::BranchTip;
use crate::question::OpenQuestion;
use crate::session::{SessionFacts, SupervisorView};

#[derive(Debug, Clone, PartialEq)]
pub enum ViewEvent {
    /// Which session this is.
    Session(Box<SessionFacts>),
    /// The agents of the session, in order. They are shown even before their first message.
    Members(SessionMembers),
    /// The supervisor that the session was started with.
    Supervisor(Option<SupervisorView>),
    /// The session according to its receipt, tmux, the disk and the broker.
    Snapshot(Box<SessionSnapshot>),
    /// The broker's records of every message up to `seq`.
    Records { records: AgentRecords, seq: u64 },
    /// A stored message. Applying it twice has no effect.
    Message(Arc<StoredMessage>),
    /// An observed state of an agent.
    Observed { agent: AgentId, seen: Observation },
    /// The tips of the agents' branches.
    Tips(Vec<(AgentId, BranchTip)>),
    /// An agent was removed from the session.
    AgentGone(AgentId),
}

/// The session without messages.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSnapshot {
    pub session: SessionFacts,
    pub supervisor: Option<SupervisorView>,
    pub agents: SessionMembers,
    /// What the session's process observed, as far as it is known without asking it.
    pub observed: Vec<(AgentId, Observation)>,
}

/// The effect of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewChanges {
    /// Whether the view changed.
    pub changed: bool,
    /// Questions that the event closed.
    pub settled: Vec<OpenQuestion>,
}

impl ViewChanges {
    pub(crate) fn of(changed: bool) -> Self {
        Self { changed, settled: Vec::new() }
    }
}
