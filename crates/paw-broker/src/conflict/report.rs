//! What a message of the radar is about, as data: in the payload's `conflict`, beside the sentence for people.

use std::ops::RangeInclusive;

use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::message::Message;

/// The field of a payload that holds it.
pub const PAYLOAD_FIELD: &str = "conflict";

/// What two agents did, or are about to do, to the same files. Seen by the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictReport {
    pub kind: ConflictCategory,
    pub level: ConflictLevel,
    /// Who is told. In an ownership violation: who did it.
    pub you: AgentId,
    /// In an ownership violation: who claimed the file.
    pub other: AgentId,
    pub files: Vec<ConflictFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictCategory {
    /// Both announced it.
    Forward,
    /// Both did it.
    InFlight,
    /// One did what the other had announced.
    Ownership,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictLevel {
    /// It is over.
    Cleared,
    /// Both changes merge as they are.
    Additive,
    /// The same file; nobody could look inside.
    Overlap,
    /// Git says it does not merge.
    Conflict,
    /// It went on for so long that a person is asked.
    Escalated,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictFile {
    pub path: String,
    /// In git's words: `contents`, `modify/delete`, … Nothing where git was not asked.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub your_lines: Vec<LineRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub their_lines: Vec<LineRange>,
}

/// First and last line, counted from 1; a list of two numbers in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineRange(pub u64, pub u64);

impl From<&RangeInclusive<u64>> for LineRange {
    fn from(lines: &RangeInclusive<u64>) -> Self {
        Self(*lines.start(), *lines.end())
    }
}

impl ConflictFile {
    pub fn path(path: impl Into<String>) -> Self {
        Self { path: path.into(), how: None, your_lines: Vec::new(), their_lines: Vec::new() }
    }
}

impl ConflictReport {
    /// What a message of the radar is about. Nothing for everybody else's messages: only the supervisor, in whose
    /// name the radar speaks, can say so.
    pub fn find(message: &Message) -> Option<Self> {
        let ours = matches!(message, Message::Feedback(_) | Message::Question(_))
            && message.sender().is_some_and(|sender| sender.as_str() == AgentId::SUPERVISOR);
        let value = ours.then(|| message.extra().payload.get(PAYLOAD_FIELD)).flatten()?;
        serde_json::from_value(value.clone()).ok()
    }
}
