//! `agent.answer`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `agent.answer`: the answer to a question of `agent_id`.
    pub struct AnswerMessage = "agent.answer", Agent {
        pub from: AgentId = require_agent,
        pub answer: String = require_filled,
        /// The question: its text or its sequence number.
        pub re: Option<String> = find_filled,
    }
}

impl AnswerMessage {
    pub fn new(agent_id: AgentId, from: AgentId, answer: impl Into<String>) -> Self {
        Self { agent_id, from, answer: answer.into(), re: None, extra: Extra::default() }
    }
}

impl MessageType for AnswerMessage {
    fn sender(&self) -> Option<&AgentId> {
        Some(&self.from)
    }

    fn audience(&self) -> Audience {
        Audience::only(&self.agent_id)
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "answer from {}", self.from)?;
        self.re.iter().try_for_each(|re| write!(f, " (re: {re})"))?;
        write!(f, ": {}", self.answer)
    }

    fn summary(&self) -> String {
        self.answer.clone()
    }
}
