//! From a message to the JSON it is stored and sent as.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{Extra, Message};

impl Message {
    pub fn extra(&self) -> &Extra {
        match self {
            Self::Status(message) => &message.extra,
            Self::Artifact(message) => &message.extra,
            Self::Blocked(message) => &message.extra,
            Self::Verified(message) => &message.extra,
            Self::Feedback(message) => &message.extra,
            Self::Question(message) => &message.extra,
            Self::Intent(message) => &message.extra,
            Self::AdvancedMain(message) => &message.extra,
            Self::Learning(message) => &message.extra,
            Self::VerifyNow(message) => &message.extra,
            Self::Answer(message) => &message.extra,
        }
    }

    pub fn extra_mut(&mut self) -> &mut Extra {
        match self {
            Self::Status(message) => &mut message.extra,
            Self::Artifact(message) => &mut message.extra,
            Self::Blocked(message) => &mut message.extra,
            Self::Verified(message) => &mut message.extra,
            Self::Feedback(message) => &mut message.extra,
            Self::Question(message) => &mut message.extra,
            Self::Intent(message) => &mut message.extra,
            Self::AdvancedMain(message) => &mut message.extra,
            Self::Learning(message) => &mut message.extra,
            Self::VerifyNow(message) => &mut message.extra,
            Self::Answer(message) => &mut message.extra,
        }
    }

    /// The message as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The message as it is stored and sent: JSON in one line.
    pub fn to_text(&self) -> String {
        // Most messages fit without growing.
        let mut text = Vec::with_capacity(512);
        match serde_json::to_writer(&mut text, self) {
            Ok(()) => String::from_utf8(text).unwrap_or_default(),
            Err(_) => String::new(),
        }
    }
}

/// Known fields in their usual order, unknown ones after them. A list that was absent is `[]`, except the files of a
/// status, where silence means something else than none.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.type_name())?;
        match self {
            Self::AdvancedMain(message) => {
                map.serialize_entry("from", &message.from)?;
                map.serialize_entry("merged_branch", &message.merged_branch)?;
                map.serialize_entry("new_main_sha", &message.new_main_sha)?;
                map.serialize_entry("base", &message.base)?;
                map.serialize_entry("merged_at", &message.merged_at)?;
                some(&mut map, "summary", message.summary.as_ref())?;
            }
            Self::VerifyNow(message) => map.serialize_entry("branch_id", &message.branch_id)?,
            Self::Learning(_) => map.serialize_entry("payload", &Payload(self))?,
            _ => {
                map.serialize_entry("agent_id", self.subject())?;
                map.serialize_entry("payload", &Payload(self))?;
            }
        }
        for (name, value) in &self.extra().envelope {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

struct Payload<'a>(&'a Message);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Message::Status(message) => {
                map.serialize_entry("status", &message.status)?;
                some(&mut map, "modified_files", message.modified_files.as_ref())?;
                some(&mut map, "message", message.message.as_ref())?;
                some(&mut map, "cli", message.cli.as_ref())?;
                some(&mut map, "phase", message.phase.as_ref())?;
                some(&mut map, "detail", message.detail.as_ref())?;
            }
            Message::Artifact(message) => {
                map.serialize_entry("status", &message.status)?;
                map.serialize_entry("exports", &message.exports)?;
                map.serialize_entry("modified_files", &message.modified_files)?;
            }
            Message::Blocked(message) => {
                map.serialize_entry("needs", &message.needs)?;
                map.serialize_entry("from", &message.from)?;
            }
            Message::Verified(message) => {
                map.serialize_entry("verified_by", &message.verified_by)?;
                some(&mut map, "message", message.message.as_ref())?;
                some(&mut map, "commit", message.commit.as_ref())?;
            }
            Message::Feedback(message) => {
                map.serialize_entry("from", &message.from)?;
                map.serialize_entry("errors", &message.errors)?;
            }
            Message::Question(message) => map.serialize_entry("question", &message.question)?,
            Message::Intent(message) => {
                map.serialize_entry("files", &message.files)?;
                map.serialize_entry("summary", &message.summary)?;
                map.serialize_entry("valid_for_seconds", &message.valid_for_seconds)?;
            }
            Message::Learning(message) => {
                some(&mut map, "id", message.id.as_ref())?;
                map.serialize_entry("agent_id", &message.agent_id)?;
                some(&mut map, "branch_id", message.branch_id.as_ref())?;
                map.serialize_entry("category", &message.category)?;
                map.serialize_entry("title", &message.title)?;
                map.serialize_entry("body", &message.body)?;
                map.serialize_entry("timestamp", &message.timestamp)?;
            }
            Message::Answer(message) => {
                map.serialize_entry("from", &message.from)?;
                map.serialize_entry("answer", &message.answer)?;
                some(&mut map, "re", message.re.as_ref())?;
            }
            Message::AdvancedMain(_) | Message::VerifyNow(_) => {}
        }
        for (name, value) in &self.0.extra().payload {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn some<M: SerializeMap, T: Serialize>(map: &mut M, name: &str, value: Option<&T>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}
