//! `agent.feedback`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `agent.feedback`: something for `agent_id` to fix.
    pub struct FeedbackMessage = "agent.feedback", Agent {
        pub from: AgentId = require_agent,
        pub errors: Vec<String> = require_filled_texts,
    }
}

impl FeedbackMessage {
    pub fn new(agent_id: AgentId, from: AgentId, errors: Vec<String>) -> Self {
        Self { agent_id, from, errors, extra: Extra::default() }
    }
}

impl MessageType for FeedbackMessage {
    fn sender(&self) -> Option<&AgentId> {
        Some(&self.from)
    }

    fn audience(&self) -> Audience {
        Audience::only(&self.agent_id)
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "feedback from {}: {} errors", self.from, self.errors.len())
    }

    fn summary(&self) -> String {
        self.errors.join("; ")
    }
}
