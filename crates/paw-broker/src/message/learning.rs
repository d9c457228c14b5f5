//! `agent.learning`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;
use serde_json::Value;

use super::wire::message_type;
use super::{Audience, MessageType};

message_type! {
    /// `agent.learning`: something learned in the session.
    pub struct LearningMessage = "agent.learning", Payload about agent_id {
        pub id: Option<String> = find_text,
        pub agent_id: AgentId = require_agent,
        pub branch_id: Option<AgentId> = find_agent,
        pub category: String = require_text,
        pub title: String = require_text,
        pub body: Value = value_or_null,
        pub timestamp: String = require_text,
    }
}

impl MessageType for LearningMessage {
    fn audience(&self) -> Audience {
        self.branch_id.as_ref().map_or(Audience::Supervisor, Audience::only)
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let branch = self.branch_id.as_ref().map_or("*", AsRef::as_ref);
        write!(f, "learning ({}/{branch}): {}", self.category, self.title)
    }

    fn summary(&self) -> String {
        format!("{}: {}", self.category, self.title)
    }
}
