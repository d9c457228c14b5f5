//! What changes a view.

use std::sync::Arc;

use paw_broker::Stored;
use paw_broker::record::Records;
use paw_core::AgentId;

use crate::agent::{Members, Observation};
use crate::question::Question;
use crate::session::{SessionFacts, SupervisorView};

#[derive(Debug, Clone, PartialEq)]
pub enum ViewEvent {
    /// Which session this is.
    Session(Box<SessionFacts>),
    /// The agents the session has, in their order. They are shown before they say anything.
    Members(Members),
    /// The session as its receipt, tmux, the disk and the broker have it.
    Snapshot(Box<Snapshot>),
    /// What a broker knows from every message up to `seq`.
    Records { records: Records, seq: u64 },
    /// A stored message. One that was applied before changes nothing.
    Message(Arc<Stored>),
    /// What an agent was seen doing.
    Observed { agent: AgentId, seen: Observation },
    /// An agent was removed from the session.
    AgentGone(AgentId),
}

/// Everything but messages and what agents are doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub session: SessionFacts,
    pub supervisor: Option<SupervisorView>,
    pub agents: Members,
}

/// What an event did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether the view differs from before.
    pub changed: bool,
    /// Questions that are no longer open because of it.
    pub settled: Vec<Question>,
}

impl Changes {
    pub(crate) fn of(changed: bool) -> Self {
        Self { changed, settled: Vec::new() }
    }
}
