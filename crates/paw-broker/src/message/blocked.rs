//! `agent.blocked`: fields, audience and text.

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `agent.blocked`: an agent waits for another.
    pub struct BlockedMessage = "agent.blocked", Agent {
        pub needs: String = require_filled,
        /// The agent that can unblock it.
        pub from: AgentId = require_agent,
    }
}

impl BlockedMessage {
    pub fn new(agent_id: AgentId, needs: impl Into<String>, from: AgentId) -> Self {
        Self { agent_id, needs: needs.into(), from, extra: Extra::default() }
    }
}

impl MessageType for BlockedMessage {
    fn audience(&self) -> Audience {
        Audience::only(&self.from)
    }

    fn summary(&self) -> String {
        format!("needs {} from {}", self.needs, self.from)
    }
}
