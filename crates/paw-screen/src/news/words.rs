//! A message in a few words, and in all of them.

use paw_broker::Stored;
use paw_broker::message::{Answer, Message, Question};
use paw_broker::route::{self, Audience};
use paw_core::text::{self, plural};
use serde_json::{Map, Value};

use crate::dashboard::{Kind, Message as Shown, Role};
use crate::text::Text;

/// How much of one field the detail view shows.
const LONGEST: usize = 8 * 1024;

pub(super) fn message(stored: &Stored) -> Shown {
    let message = &stored.message;
    let to = match (message, route::audience(message)) {
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
        text: Text::line(&gist(message)),
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
            Some(Text::line(&gist(message)))
        }
        _ => None,
    }
}

/// The message without its type and sender, which stand beside it.
fn gist(message: &Message) -> String {
    match message {
        Message::Status(status) => {
            let files =
                status.modified_files.as_ref().map(|files| format!(", {}", plural(files.len(), "file")));
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
                Some(commit) => format!("{words} ({})", text::short_commit(commit)),
                None => words,
            }
        }
        Message::Feedback(feedback) => feedback.errors.join("; "),
        Message::Question(question) => question.question.clone(),
        Message::Intent(intent) => format!("{}: {}", plural(intent.files.len(), "file"), intent.summary),
        Message::AdvancedMain(merged) => {
            format!(
                "{} merged into {} ({})",
                merged.merged_branch,
                merged.base,
                text::short_commit(&merged.new_main_sha)
            )
        }
        Message::Learning(learning) => format!("{}: {}", learning.category, learning.title),
        Message::VerifyNow(_) => "a commit waits to be verified".to_owned(),
        Message::Answer(answer) => answer.answer.clone(),
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
