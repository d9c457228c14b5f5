//! What changes a view.

use std::sync::Arc;

use paw_broker::StoredMessage;
use paw_broker::record::AgentRecords;
use paw_core::AgentId;

use crate::agent::{Observation, SessionMembers};
use crate::question::OpenQuestion;
use crate::session::{SessionFacts, SupervisorView};

#[derive(Debug, Clone, PartialEq)]
pub enum ViewEvent {
    /// Which session this is.
    Session(Box<SessionFacts>),
    /// The agents the session has, in their order. They are shown before they say anything.
    Members(SessionMembers),
    /// The session as its receipt, tmux, the disk and the broker have it.
    Snapshot(Box<SessionSnapshot>),
    /// What a broker knows from every message up to `seq`.
    Records { records: AgentRecords, seq: u64 },
    /// A stored message. One that was applied before changes nothing.
    Message(Arc<StoredMessage>),
    /// What an agent was seen doing.
    Observed { agent: AgentId, seen: Observation },
    /// An agent was removed from the session.
    AgentGone(AgentId),
}

/// Everything but messages and what agents are doing.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSnapshot {
    pub session: SessionFacts,
    pub supervisor: Option<SupervisorView>,
    pub agents: SessionMembers,
}

/// What an event did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewChanges {
    /// Whether the view differs from before.
    pub changed: bool,
    /// Questions that are no longer open because of it.
    pub settled: Vec<OpenQuestion>,
}

impl ViewChanges {
    pub(crate) fn of(changed: bool) -> Self {
        Self { changed, settled: Vec::new() }
    }
}
