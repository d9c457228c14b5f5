//! `agent.artifact`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `agent.artifact`: an agent finished or committed something.
    pub struct ArtifactMessage = "agent.artifact", Agent {
        pub status: String = require_text,
        pub exports: Vec<String> = texts,
        pub modified_files: Vec<String> = texts,
    }
}

impl ArtifactMessage {
    /// The status of an artifact that a commit hook sends.
    pub const COMMITTED: &'static str = "committed";

    pub fn new(agent_id: AgentId, status: impl Into<String>) -> Self {
        Self {
            agent_id,
            status: status.into(),
            exports: Vec::new(),
            modified_files: Vec::new(),
            extra: Extra::default(),
        }
    }
}

impl MessageType for ArtifactMessage {
    fn label(&self) -> &str {
        &self.status
    }

    fn audience(&self) -> Audience {
        Audience::Others
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "artifact: {}", self.status)?;
        if self.exports.is_empty() {
            return Ok(());
        }
        write!(f, " — exports: {}", self.exports.join(", "))
    }

    fn summary(&self) -> String {
        let mut summary = self.status.clone();
        if !self.exports.is_empty() {
            summary = format!("{summary}, exports {}", self.exports.join(", "));
        }
        if !self.modified_files.is_empty() {
            summary = format!("{summary}: {}", self.modified_files.join(", "));
        }
        summary
    }
}
