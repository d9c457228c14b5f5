//! Messages for display: a summary and all fields.

use jiff::Timestamp;
use paw_broker::StoredMessage;
use paw_broker::message::Message;
use paw_broker::route::Audience;
use paw_core::{AgentId, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Longer fields are truncated.
const MAX_FIELD: usize = 8 * 1024;

/// A message of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: MessageKind,
    pub from: AgentId,
    /// Missing if the message is for all agents or for none.
    pub to: Option<AgentId>,
    /// A summary without type and sender. For a question, its exact text.
    pub text: String,
    /// Every field of the message, by name.
    pub fields: Vec<(String, String)>,
}

/// The message types that filters use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    Status,
    Artifact,
    Blocked,
    Verified,
    Feedback,
    Question,
    Answer,
    Intent,
    Main,
    Learning,
}

impl MessageKind {
    pub const ALL: [Self; 10] = [
        Self::Status,
        Self::Artifact,
        Self::Blocked,
        Self::Verified,
        Self::Feedback,
        Self::Question,
        Self::Answer,
        Self::Intent,
        Self::Main,
        Self::Learning,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Artifact => "artifact",
            Self::Blocked => "blocked",
            Self::Verified => "verified",
            Self::Feedback => "feedback",
            Self::Question => "question",
            Self::Answer => "answer",
            Self::Intent => "intent",
            Self::Main => "main",
            Self::Learning => "learning",
        }
    }
}

impl From<&StoredMessage> for MessageView {
    fn from(stored: &StoredMessage) -> Self {
        let message = &stored.message;
        let to = match (message, message.audience()) {
            (Message::Verified(verified), _) => Some(verified.agent_id.clone()),
            (_, Audience::Only(agent)) => Some(agent),
            (_, Audience::Supervisor) => Some(AgentId::supervisor()),
            (_, Audience::None | Audience::Others) => None,
        };
        Self {
            seq: stored.seq,
            at: stored.at,
            kind: kind(message),
            from: stored.sender.clone(),
            to,
            text: message.summary(),
            fields: fields(message),
        }
    }
}

fn kind(message: &Message) -> MessageKind {
    match message {
        Message::Status(_) => MessageKind::Status,
        Message::Artifact(_) => MessageKind::Artifact,
        Message::Blocked(_) => MessageKind::Blocked,
        Message::Verified(_) | Message::VerifyNow(_) => MessageKind::Verified,
        Message::Feedback(_) => MessageKind::Feedback,
        Message::Question(_) => MessageKind::Question,
        Message::Answer(_) => MessageKind::Answer,
        Message::Intent(_) => MessageKind::Intent,
        Message::AdvancedMain(_) => MessageKind::Main,
        Message::Learning(_) => MessageKind::Learning,
    }
}

/// Whether [`status_text`] returns one.
pub(crate) fn has_status_text(message: &Message) -> bool {
    match message {
        Message::Status(status) => status.message.is_some(),
        Message::Artifact(_) | Message::Blocked(_) | Message::Question(_) | Message::Intent(_) => true,
        _ => false,
    }
}

/// The message of an agent about itself; `None` for a status that only lists files.
pub(crate) fn status_text(message: &Message) -> Option<String> {
    match message {
        Message::Status(status) => status.message.clone(),
        other => has_status_text(other).then(|| other.summary()),
    }
}

/// All fields of a message.
fn fields(message: &Message) -> Vec<(String, String)> {
    let Value::Object(mut envelope) = message.to_json() else { return Vec::new() };
    let payload = match envelope.remove("payload") {
        Some(Value::Object(payload)) => payload,
        _ => Map::new(),
    };
    let all = payload
        .into_iter()
        .chain(envelope.into_iter().filter(|(name, _)| name != "type" && name != "agent_id"));
    all.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, field_text(&value))).collect()
}

fn field_text(value: &Value) -> String {
    let field_text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(field_text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    };
    text::truncate_chars(&field_text, MAX_FIELD).into_owned()
}
