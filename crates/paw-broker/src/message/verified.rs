//! `agent.verified`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType, short_commit};

message_type! {
    /// `agent.verified`: the work of `agent_id` was verified.
    pub struct VerifiedMessage = "agent.verified", Agent {
        pub verified_by: AgentId = require_agent,
        pub message: Option<String> = find_text,
        /// The commit that was verified.
        pub commit: Option<String> = find_text,
    }
}

impl VerifiedMessage {
    pub fn new(agent_id: AgentId, verified_by: AgentId) -> Self {
        Self { agent_id, verified_by, message: None, commit: None, extra: Extra::default() }
    }
}

impl MessageType for VerifiedMessage {
    const PRIVILEGED: bool = true;

    fn sender(&self) -> Option<&AgentId> {
        Some(&self.verified_by)
    }

    fn audience(&self) -> Audience {
        Audience::Others
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "verified by {}", self.verified_by)?;
        self.message.iter().try_for_each(|text| write!(f, " — {text}"))
    }

    fn summary(&self) -> String {
        let words = self.message.as_deref().unwrap_or("verified");
        match &self.commit {
            Some(commit) => format!("{words} ({})", short_commit(commit)),
            None => words.to_owned(),
        }
    }
}
