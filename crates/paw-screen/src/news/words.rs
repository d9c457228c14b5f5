//! A message in a few words, and in all of them.

use paw_broker::Stored;
use paw_broker::message::{Answer, Message, Question};
use paw_broker::route::Audience;
use paw_core::text;
use serde_json::{Map, Value};

use crate::dashboard::{Kind, Message as Shown, Role};
use crate::text::Text;

/// How much of one field the detail view shows.
const LONGEST: usize = 8 * 1024;

pub(super) fn message(stored: &Stored) -> Shown {
    let message = &stored.message;
    let to = match (message, message.audience()) {
        (Message::Verified(verified), _) => verified.agent_id.to_string(),
        (_, Audience::Only(agent)) => agent.to_string(),
        (_, Audience::Supervisor) => "supervisor".to_owned(),
        (_, Audience::Nobody | Audience::Others) => String::new(),
    };
    Shown {
        seq: stored.seq,
        at: stored.at,
        kind: kind(message),
        from: stored.sender.as_str().into(),
        to: to.as_str().into(),
        text: Text::line(&message.summary()),
        fields: fields(message),
        role: role(message),
    }
}

fn kind(message: &Message) -> Kind {
    match message {
        Message::Status(_) => Kind::Status,
        Message::Artifact(_) => Kind::Artifact,
        Message::Blocked(_) => Kind::Blocked,
        Message::Verified(_) | Message::VerifyNow(_) => Kind::Verified,
        Message::Feedback(_) => Kind::Feedback,
        Message::Question(_) => Kind::Question,
        Message::Answer(_) => Kind::Answer,
        Message::Intent(_) => Kind::Intent,
        Message::AdvancedMain(_) => Kind::Main,
        Message::Learning(_) => Kind::Learning,
    }
}

fn role(message: &Message) -> Role {
    match message {
        Message::Question(Question { agent_id, question, .. }) => {
            Role::Question { asker: agent_id.clone(), question: question.clone() }
        }
        Message::Answer(Answer { agent_id, re, .. }) => {
            Role::Answer { asker: agent_id.clone(), quoted: re.clone() }
        }
        _ => Role::Plain,
    }
}

/// What an agent says about itself, for its row in the table. What only repeats its files is not worth it.
pub(super) fn own(message: &Message) -> Option<Text> {
    match message {
        Message::Status(status) => status.message.as_deref().map(Text::line),
        Message::Artifact(_) | Message::Blocked(_) | Message::Question(_) | Message::Intent(_) => {
            Some(Text::line(&message.summary()))
        }
        _ => None,
    }
}

/// Every field of a message, as it was sent.
fn fields(message: &Message) -> Vec<(Text, Text)> {
    let Value::Object(mut envelope) = message.to_json() else { return Vec::new() };
    let payload = match envelope.remove("payload") {
        Some(Value::Object(payload)) => payload,
        _ => Map::new(),
    };
    let all = payload
        .into_iter()
        .chain(envelope.into_iter().filter(|(name, _)| name != "type" && name != "agent_id"));
    all.filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (Text::line(&name), Text::new(&told(&value))))
        .collect()
}

fn told(value: &Value) -> String {
    let told = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(told).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    };
    text::truncate_chars(&told, LONGEST).into_owned()
}
