//! A message in a few words, and in all of them.

use jiff::Timestamp;
use paw_broker::Stored;
use paw_broker::message::Message;
use paw_broker::route::{self, Audience};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How much of one field is kept.
const LONGEST: usize = 8 * 1024;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: MessageKind,
    pub from: AgentId,
    /// Missing when it is for all agents or for none.
    pub to: Option<AgentId>,
    /// The message without its type and sender. For a question, the question word for word.
    pub text: String,
    /// Every field of the message, by name.
    pub fields: Vec<(String, String)>,
}

/// The types of messages, as they are filtered.
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

impl From<&Stored> for MessageView {
    fn from(stored: &Stored) -> Self {
        let message = &stored.message;
        let to = match (message, route::audience(message)) {
            (Message::Verified(verified), _) => Some(verified.agent_id.clone()),
            (_, Audience::Only(agent)) => Some(agent),
            (_, Audience::Supervisor) => Some(AgentId::supervisor()),
            (_, Audience::Nobody | Audience::Others) => None,
        };
        Self {
            seq: stored.seq,
            at: stored.at,
            kind: kind(message),
            from: stored.sender.clone(),
            to,
            text: gist(message),
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

/// What an agent says about itself. A status that only lists its files says nothing new.
pub(crate) fn own_words(message: &Message) -> Option<String> {
    match message {
        Message::Status(status) => status.message.clone(),
        Message::Artifact(_) | Message::Blocked(_) | Message::Question(_) | Message::Intent(_) => {
            Some(gist(message))
        }
        _ => None,
    }
}

fn gist(message: &Message) -> String {
    match message {
        Message::Status(status) => {
            let files =
                status.modified_files.as_ref().map(|files| format!(", {}", count(files.len(), "file")));
            let words = status.message.as_ref().map(|words| format!(": {words}"));
            let phase = status.phase.as_ref().filter(|phase| **phase != status.status);
            let phase = phase.map(|phase| format!(" ({phase})"));
            let more = [phase, files, words].into_iter().flatten().collect::<String>();
            format!("{}{more}", status.status)
        }
        Message::Artifact(artifact) => {
            let mut gist = artifact.status.clone();
            if !artifact.exports.is_empty() {
                gist = format!("{gist}, exports {}", artifact.exports.join(", "));
            }
            if !artifact.modified_files.is_empty() {
                gist = format!("{gist}: {}", artifact.modified_files.join(", "));
            }
            gist
        }
        Message::Blocked(blocked) => format!("needs {} from {}", blocked.needs, blocked.from),
        Message::Verified(verified) => {
            let words = verified.message.clone().unwrap_or_else(|| "verified".to_owned());
            match &verified.commit {
                Some(commit) => format!("{words} ({})", short(commit)),
                None => words,
            }
        }
        Message::Feedback(feedback) => feedback.errors.join("; "),
        Message::Question(question) => question.question.clone(),
        Message::Intent(intent) => format!("{}: {}", count(intent.files.len(), "file"), intent.summary),
        Message::AdvancedMain(merged) => {
            format!("{} merged into {} ({})", merged.merged_branch, merged.base, short(&merged.new_main_sha))
        }
        Message::Learning(learning) => format!("{}: {}", learning.category, learning.title),
        Message::VerifyNow(_) => "a commit waits to be verified".to_owned(),
        Message::Answer(answer) => answer.answer.clone(),
    }
}

fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

fn short(commit: &str) -> String {
    commit.chars().take(9).collect()
}

/// Every field of a message, as it was sent.
fn fields(message: &Message) -> Vec<(String, String)> {
    let Value::Object(mut envelope) = message.to_json() else { return Vec::new() };
    let payload = match envelope.remove("payload") {
        Some(Value::Object(payload)) => payload,
        _ => Map::new(),
    };
    let all = payload
        .into_iter()
        .chain(envelope.into_iter().filter(|(name, _)| name != "type" && name != "agent_id"));
    all.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, told(&value))).collect()
}

fn told(value: &Value) -> String {
    let mut told = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(told).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    };
    if let Some((end, _)) = told.char_indices().nth(LONGEST) {
        told.truncate(end);
        told.push('…');
    }
    told
}
