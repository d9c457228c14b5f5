//! Our values as messages.

use jiff::Timestamp;
use paw_agent::headless::{TurnEvent, TurnOutcome};
use paw_worktree::{Conversation, ManagedWorktree, UnmanagedWorktree};
use prost_types::value::Kind;
use prost_types::{ListValue, Struct};
use serde_json::Value;

use crate::fit;
use crate::proto::conversation_event as told;
use crate::proto::{self, WorktreeInfo};

/// Clients take messages of four megabytes; a tool may have printed more.
const ROOM: usize = 1024 * 1024;

pub(crate) fn timestamp(moment: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: moment.as_second(), nanos: moment.subsec_nanosecond() }
}

/// A row, with the conversations of its worktree.
pub(crate) fn managed(row: &ManagedWorktree, conversations: &[Conversation]) -> WorktreeInfo {
    let own = || conversations.iter().filter(|talk| talk.worktree.as_ref() == Some(&row.id));
    let active = own().find(|talk| talk.status == paw_worktree::ConversationStatus::Active);
    let last_active = own().map(|talk| talk.updated_at).fold(row.updated_at, Timestamp::max);
    WorktreeInfo {
        id: row.id.to_string(),
        name: row.name.clone(),
        path: row.path.to_string_lossy().into_owned(),
        branch: row.branch.to_string(),
        created_at: Some(timestamp(row.created_at)),
        active_session_id: active.map(|talk| talk.id.to_string()),
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

/// A worktree that plain git made.
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

pub(crate) fn conversation(talk: &Conversation) -> proto::Conversation {
    proto::Conversation {
        id: talk.id.to_string(),
        worktree_id: talk.worktree.as_ref().map(ToString::to_string),
        cli: talk.cli.clone(),
        model: talk.model.clone(),
        status: talk.status.to_string(),
        cli_session: talk.cli_session.clone(),
        created_at: Some(timestamp(talk.created_at)),
        updated_at: Some(timestamp(talk.updated_at)),
    }
}

pub(crate) fn event(event: TurnEvent) -> told::Event {
    let short = |text: String| fit::text(&text, ROOM);
    match event {
        TurnEvent::Text(text) => told::Event::Text(told::Text { text: short(text) }),
        TurnEvent::ToolUse { id, name, input } => {
            told::Event::ToolUse(told::ToolUse { id, name, input: Some(object(&fit::value(&input, ROOM))) })
        }
        TurnEvent::ToolResult { id, output, is_error } => {
            told::Event::ToolResult(told::ToolResult { id, output: short(output), is_error })
        }
        TurnEvent::PermissionDenied { id, name, input, message } => {
            let input = Some(object(&fit::value(&input, ROOM)));
            told::Event::PermissionDenied(told::PermissionDenied { id, name, input, message: short(message) })
        }
        TurnEvent::Error(message) => told::Event::Error(told::Error { message: short(message) }),
        TurnEvent::Raw(said) => told::Event::Raw(told::Raw { json: fit::value(&said, ROOM).to_string() }),
    }
}

pub(crate) fn done(done: TurnOutcome) -> told::Event {
    let TurnOutcome { ok, cost_usd, turns, session, message } = done;
    told::Event::Done(told::Done { ok, cost_usd, turns, cli_session: session, message })
}

/// JSON as a `Struct`, which has to be an object.
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
