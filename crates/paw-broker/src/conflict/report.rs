//! The data of a conflict message, in its payload's field `conflict`.

use std::ops::RangeInclusive;

use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::message::Message;

/// The payload field that holds the report.
pub const PAYLOAD_FIELD: &str = "conflict";

/// Two agents that changed, or are about to change, the same files, from the point of view of the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictReport {
    pub kind: ConflictCategory,
    pub level: ConflictLevel,
    /// The recipient. In an ownership violation: the violator.
    pub you: AgentId,
    /// In an ownership violation: the agent that announced the file.
    pub other: AgentId,
    pub files: Vec<ConflictFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictCategory {
    /// Both agents announced the file.
    Forward,
    /// Both agents changed the file.
    InFlight,
    /// One agent changed a file that the other announced.
    Ownership,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictLevel {
    /// The conflict is resolved.
    Cleared,
    /// Both changes merge as they are.
    Additive,
    /// Both changed the same file; git did not compare the changes.
    Overlap,
    /// Git cannot merge the changes.
    Conflict,
    /// The conflict lasted so long that the user is asked.
    Escalated,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictFile {
    pub path: String,
    /// Git's name for the type of conflict: `contents`, `modify/delete`, … Absent if git was not asked.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub conflict_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub your_lines: Vec<LineRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub their_lines: Vec<LineRange>,
}

/// First and last line, counted from 1. A list of two numbers in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineRange(pub u64, pub u64);

impl From<&RangeInclusive<u64>> for LineRange {
    fn from(lines: &RangeInclusive<u64>) -> Self {
        Self(*lines.start(), *lines.end())
    }
}

impl ConflictFile {
    pub fn path(path: impl Into<String>) -> Self {
        Self { path: path.into(), conflict_type: None, your_lines: Vec::new(), their_lines: Vec::new() }
    }
}

impl ConflictReport {
    /// The report in a message of the detector. The detector sends as the supervisor, so reports from other senders
    /// are ignored.
    pub fn find(message: &Message) -> Option<Self> {
        let ours = matches!(message, Message::Feedback(_) | Message::Question(_))
            && message.sender().is_some_and(|sender| sender.as_str() == AgentId::SUPERVISOR);
        let value = ours.then(|| message.extra().payload.get(PAYLOAD_FIELD)).flatten()?;
        serde_json::from_value(value.clone()).ok()
    }
}
