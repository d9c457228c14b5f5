//! `agent.question`: fields, audience and text.

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `agent.question`: a question of an agent.
    pub struct QuestionMessage = "agent.question", Agent {
        pub question: String = require_filled,
    }
}

impl QuestionMessage {
    pub fn new(agent_id: AgentId, question: impl Into<String>) -> Self {
        Self { agent_id, question: question.into(), extra: Extra::default() }
    }

    /// Whether it is about a prompt, which is answered in the pane of the agent and not by a message.
    pub fn is_approval(&self) -> bool {
        self.question.starts_with("[approval]")
    }
}

impl MessageType for QuestionMessage {
    fn audience(&self) -> Audience {
        Audience::Supervisor
    }

    fn summary(&self) -> String {
        self.question.clone()
    }
}
