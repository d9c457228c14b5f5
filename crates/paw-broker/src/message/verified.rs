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

    /// A verification that is declared, not the result of gates.
    pub fn by_hand(agent_id: AgentId, verified_by: AgentId) -> Self {
        let mut message = Self::new(agent_id, verified_by);
        message.extra.payload.insert(BY_HAND.to_owned(), true.into());
        message
    }

    /// Whether it was declared. The supervisor never sends results of gates: the session's process does.
    pub fn is_by_hand(&self) -> bool {
        self.verified_by.as_str() == AgentId::SUPERVISOR
            || self.extra.payload.get(BY_HAND).is_some_and(|by_hand| by_hand == true)
    }
}

/// Marks what was declared.
const BY_HAND: &str = "by_hand";

impl MessageType for VerifiedMessage {
    const PRIVILEGED: bool = true;

    fn sender(&self) -> Option<&AgentId> {
        Some(&self.verified_by)
    }

    fn audience(&self) -> Audience {
        Audience::Others
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let by_hand = if self.is_by_hand() { " by hand," } else { "" };
        write!(f, "verified{by_hand} by {}", self.verified_by)?;
        self.message.iter().try_for_each(|text| write!(f, " — {text}"))
    }

    fn summary(&self) -> String {
        let words = self.message.as_deref().unwrap_or("verified");
        let by_hand = if self.is_by_hand() { ", by hand" } else { "" };
        match &self.commit {
            Some(commit) => format!("{words} ({}{by_hand})", short_commit(commit)),
            None => format!("{words}{by_hand}"),
        }
    }
}
