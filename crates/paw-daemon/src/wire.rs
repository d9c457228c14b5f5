//! Converts our values to protobuf messages.

use jiff::Timestamp;
use paw_agent::headless::{TurnEvent, TurnOutcome};
use paw_worktree::{Conversation, ManagedWorktree, UnmanagedWorktree};
use prost_types::value::Kind;
use prost_types::{ListValue, Struct};
use serde_json::Value;

use crate::proto::conversation_event as proto_event;
use crate::proto::{self, WorktreeInfo};
use crate::truncation;

/// Clients accept messages of up to four megabytes, and tools may print more.
const MAX_BYTES: usize = 1024 * 1024;

pub(crate) fn timestamp(moment: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: moment.as_second(), nanos: moment.subsec_nanosecond() }
}

/// A managed worktree with its conversations.
pub(crate) fn managed(row: &ManagedWorktree, conversations: &[Conversation]) -> WorktreeInfo {
    let own = || conversations.iter().filter(|conversation| conversation.worktree.as_ref() == Some(&row.id));
    let active = own().find(|conversation| conversation.status == paw_worktree::ConversationStatus::Active);
    let last_active = own().map(|conversation| conversation.updated_at).fold(row.updated_at, Timestamp::max);
    WorktreeInfo {
        id: row.id.to_string(),
        name: row.name.clone(),
        path: row.path.to_string_lossy().into_owned(),
        branch: row.branch.to_string(),
        created_at: Some(timestamp(row.created_at)),
        active_session_id: active.map(|conversation| conversation.id.to_string()),
        status: row.status.to_string(),
        message: row.message.clone(),
        setup_status: row.setup.status.to_string(),
        setup_error: row.setup.error.clone(),
        setup_hints: row.setup.problem().map(|problem| problem.hints).unwrap_or_default(),
        repo_path: row.repo.to_string_lossy().into_owned(),
        last_active: Some(timestamp(last_active)),
        managed: true,
        notes: Vec::new(),
    }
}

/// A worktree created by plain git.
pub(crate) fn unmanaged(found: &UnmanagedWorktree) -> WorktreeInfo {
    let status = if found.missing { "stale" } else { "active" };
    WorktreeInfo {
        name: found.name.clone(),
        path: found.path.to_string_lossy().into_owned(),
        branch: found.branch.as_ref().map(ToString::to_string).unwrap_or_default(),
        status: status.to_owned(),
        message: found.missing.then(|| paw_worktree::reconcile::MISSING.to_owned()),
        setup_status: "none".to_owned(),
        repo_path: found.repo.to_string_lossy().into_owned(),
        ..WorktreeInfo::default()
    }
}

pub(crate) fn conversation(conversation: &Conversation) -> proto::Conversation {
    proto::Conversation {
        id: conversation.id.to_string(),
        worktree_id: conversation.worktree.as_ref().map(ToString::to_string),
        cli: conversation.cli.clone(),
        model: conversation.model.clone(),
        status: conversation.status.to_string(),
        cli_session: conversation.cli_session.clone(),
        created_at: Some(timestamp(conversation.created_at)),
        updated_at: Some(timestamp(conversation.updated_at)),
    }
}

pub(crate) fn event(event: TurnEvent) -> proto_event::Event {
    let short = |text: String| truncation::text(&text, MAX_BYTES);
    match event {
        TurnEvent::Text(text) => proto_event::Event::Text(proto_event::Text { text: short(text) }),
        TurnEvent::ToolUse { id, name, input } => proto_event::Event::ToolUse(proto_event::ToolUse {
            id,
            name,
            input: Some(object(&truncation::value(&input, MAX_BYTES))),
        }),
        TurnEvent::ToolResult { id, output, is_error } => {
            proto_event::Event::ToolResult(proto_event::ToolResult { id, output: short(output), is_error })
        }
        TurnEvent::PermissionDenied { id, name, input, message } => {
            let input = Some(object(&truncation::value(&input, MAX_BYTES)));
            proto_event::Event::PermissionDenied(proto_event::PermissionDenied {
                id,
                name,
                input,
                message: short(message),
            })
        }
        TurnEvent::Error(message) => {
            proto_event::Event::Error(proto_event::Error { message: short(message) })
        }
        TurnEvent::Raw(json) => proto_event::Event::Raw(proto_event::Raw {
            json: truncation::value(&json, MAX_BYTES).to_string(),
        }),
    }
}

pub(crate) fn done(done: TurnOutcome) -> proto_event::Event {
    let TurnOutcome { ok, cost_usd, turns, session, message } = done;
    proto_event::Event::Done(proto_event::Done { ok, cost_usd, turns, cli_session: session, message })
}

/// JSON as a `Struct`; a value that is not an object is wrapped.
pub(crate) fn object(json: &Value) -> Struct {
    match json {
        Value::Object(fields) => {
            Struct { fields: fields.iter().map(|(name, item)| (name.clone(), value(item))).collect() }
        }
        Value::Null => Struct::default(),
        other => Struct { fields: [("value".to_owned(), value(other))].into() },
    }
}

fn value(json: &Value) -> prost_types::Value {
    let kind = match json {
        Value::Null => Kind::NullValue(0),
        Value::Bool(truth) => Kind::BoolValue(*truth),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(list) => Kind::ListValue(ListValue { values: list.iter().map(value).collect() }),
        Value::Object(_) => Kind::StructValue(object(json)),
    };
    prost_types::Value { kind: Some(kind) }
}
