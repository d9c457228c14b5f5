//! `agent.status`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;
use paw_core::text::plural;
use serde_json::Value;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `agent.status`: what an agent is doing.
    pub struct StatusMessage = "agent.status", Agent {
        pub status: String = require_text,
        /// `None` if the message does not mention files, which is different from an empty list.
        pub modified_files: Option<Vec<String>> = find_texts,
        pub message: Option<String> = find_text,
        pub cli: Option<String> = find_text,
        pub phase: Option<String> = find_text,
        pub detail: Option<Value> = find_value,
    }
}

/// A part of the session's process that reports on agents. A status that names it is refused from anyone else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusSource {
    /// Watches the files of worktrees.
    Watcher,
    /// Watches the panes.
    Monitor,
}

impl StatusSource {
    const ALL: [Self; 2] = [Self::Watcher, Self::Monitor];
    const FIELD: &str = "source";

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Watcher => "watcher",
            Self::Monitor => "tower",
        }
    }
}

impl StatusMessage {
    /// Which part of the session's process sent it.
    pub fn source(&self) -> Option<StatusSource> {
        let name = self.extra.payload.get(StatusSource::FIELD)?.as_str()?;
        StatusSource::ALL.into_iter().find(|source| source.as_str() == name)
    }

    pub fn set_source(&mut self, source: StatusSource) {
        self.extra.payload.insert(StatusSource::FIELD.to_owned(), source.as_str().into());
    }

    /// Sends it in the agent's own name.
    pub fn clear_source(&mut self) {
        self.extra.payload.remove(StatusSource::FIELD);
    }

    pub fn new(agent_id: AgentId, status: impl Into<String>) -> Self {
        Self {
            agent_id,
            status: status.into(),
            modified_files: None,
            message: None,
            cli: None,
            phase: None,
            detail: None,
            extra: Extra::default(),
        }
    }

    /// Whether the agent has left the approval prompt that it showed before.
    pub fn is_past_approval(&self) -> bool {
        self.phase.as_deref().is_some_and(|phase| phase != "waiting_approval")
    }

    /// The modified files, empty if none are mentioned.
    pub fn files(&self) -> &[String] {
        self.modified_files.as_deref().unwrap_or_default()
    }
}

impl MessageType for StatusMessage {
    fn label(&self) -> &str {
        &self.status
    }

    fn audience(&self) -> Audience {
        Audience::None
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "status: {} ({} files modified)", self.status, self.files().len())
    }

    fn summary(&self) -> String {
        let phase = self.phase.as_ref().filter(|phase| **phase != self.status);
        let phase = phase.map(|phase| format!(" ({phase})"));
        let files = self.modified_files.as_ref().map(|files| format!(", {}", plural(files.len(), "file")));
        let words = self.message.as_ref().map(|words| format!(": {words}"));
        let more = [phase, files, words].into_iter().flatten().collect::<String>();
        format!("{}{more}", self.status)
    }
}
