//! From bytes to a checked message.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::fields::{Fields, filled, kind, shown};
use super::{
    AdvancedMain, Answer, Artifact, Blocked, Extra, Feedback, Intent, IntentFile, Learning, Message,
    MessageError, Question, Status, Verified, VerifyNow,
};

/// Levels of a message. Others wrap it into lists and objects of their own, and every reader of JSON has a limit.
const MOST_LEVELS: usize = 64;

impl Message {
    /// Reads one message. Size is bounded by whoever hands in the bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(MessageError::Empty);
        }
        let value = serde_json::from_slice(bytes).map_err(|error| MessageError::Json(error.to_string()))?;
        Self::from_json(value)
    }

    /// Reads one message from JSON that was parsed already.
    pub fn from_json(value: Value) -> Result<Self, MessageError> {
        if is_deeper(&value, MOST_LEVELS) {
            return Err(MessageError::TooDeep(MOST_LEVELS));
        }
        let Value::Object(map) = value else { return Err(MessageError::NotAnObject(kind(&value))) };
        let mut envelope = Fields::new(map, "");
        let name = envelope.require_text("type")?;
        match name.as_str() {
            AdvancedMain::TYPE => advanced_main(envelope),
            VerifyNow::TYPE => verify_now(envelope),
            name if Self::TYPES.contains(&name) => {
                let payload = match envelope.find("payload") {
                    Some(Value::Object(map)) => Fields::new(map, "payload."),
                    Some(other) => return Err(envelope.wrong("payload", "an object", &other)),
                    None => return Err(MessageError::field("payload", "is missing")),
                };
                with_payload(name, envelope, payload)
            }
            _ => Err(MessageError::UnknownType(shown(&name))),
        }
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(list) => list.iter().any(|value| is_deeper(value, below)),
        Value::Object(map) => map.values().any(|value| is_deeper(value, below)),
        _ => false,
    }
}

fn with_payload(name: &str, mut envelope: Fields, mut payload: Fields) -> Result<Message, MessageError> {
    if name == Learning::TYPE {
        return learning(envelope, payload);
    }
    let agent_id = envelope.require_agent("agent_id")?;
    let payload = &mut payload;
    let mut message: Message = match name {
        Status::TYPE => Status {
            status: payload.require_text("status")?,
            modified_files: payload.find_texts("modified_files")?,
            message: payload.find_text("message")?,
            cli: payload.find_text("cli")?,
            phase: payload.find_text("phase")?,
            detail: payload.find("detail"),
            ..Status::new(agent_id, "")
        }
        .into(),
        Artifact::TYPE => Artifact {
            status: payload.require_text("status")?,
            exports: payload.find_texts("exports")?.unwrap_or_default(),
            modified_files: payload.find_texts("modified_files")?.unwrap_or_default(),
            ..Artifact::new(agent_id, "")
        }
        .into(),
        Blocked::TYPE => {
            Blocked::new(agent_id, payload.require_filled("needs")?, payload.require_agent("from")?).into()
        }
        Verified::TYPE => Verified {
            message: payload.find_text("message")?,
            commit: payload.find_text("commit")?,
            ..Verified::new(agent_id, payload.require_agent("verified_by")?)
        }
        .into(),
        Feedback::TYPE => Feedback::new(agent_id, payload.require_agent("from")?, errors(payload)?).into(),
        Question::TYPE => Question::new(agent_id, payload.require_filled("question")?).into(),
        Intent::TYPE => Intent {
            valid_for_seconds: lifetime(payload)?,
            ..Intent::new(agent_id, files(payload)?, payload.require_text("summary")?)
        }
        .into(),
        Answer::TYPE => Answer {
            re: payload.find_filled("re")?,
            ..Answer::new(agent_id, payload.require_agent("from")?, payload.require_filled("answer")?)
        }
        .into(),
        _ => return Err(MessageError::UnknownType(shown(name))),
    };
    let payload = std::mem::replace(payload, Fields::new(Map::new(), ""));
    *message.extra_mut() = Extra { envelope: envelope.rest(), payload: payload.rest() };
    Ok(message)
}

fn errors(payload: &mut Fields) -> Result<Vec<String>, MessageError> {
    let errors = payload.find_texts("errors")?.unwrap_or_default();
    if errors.is_empty() {
        return Err(MessageError::field("payload.errors", "must not be empty"));
    }
    errors.into_iter().map(|error| filled("errors", error)).collect()
}

fn files(payload: &mut Fields) -> Result<Vec<IntentFile>, MessageError> {
    let files = payload.find_list("files")?;
    if files.is_empty() {
        return Err(MessageError::field("payload.files", "must not be empty"));
    }
    files.into_iter().enumerate().map(|(index, file)| IntentFile::parse(index, file)).collect()
}

fn lifetime(payload: &mut Fields) -> Result<u64, MessageError> {
    match payload.find_number("valid_for_seconds")? {
        None => Ok(Intent::DEFAULT_SECONDS),
        Some(0) => Err(MessageError::field("payload.valid_for_seconds", "must be more than 0")),
        Some(seconds) => Ok(seconds),
    }
}

fn advanced_main(mut fields: Fields) -> Result<Message, MessageError> {
    let message = AdvancedMain {
        from: fields.require_agent("from")?,
        merged_branch: fields.require_text("merged_branch")?,
        new_main_sha: fields.require_text("new_main_sha")?,
        base: fields.require_text("base")?,
        merged_at: time(&mut fields, "merged_at")?,
        summary: fields.find_text("summary")?,
        extra: Extra { envelope: fields.rest(), payload: Map::new() },
    };
    Ok(message.into())
}

fn learning(mut envelope: Fields, mut payload: Fields) -> Result<Message, MessageError> {
    let outside = envelope.find_agent("agent_id")?;
    let agent_id = match payload.find_agent("agent_id")? {
        Some(agent_id) => agent_id,
        None => outside.ok_or_else(|| MessageError::field("payload.agent_id", "is missing"))?,
    };
    let message = Learning {
        agent_id,
        id: payload.find_text("id")?,
        branch_id: payload.find_agent("branch_id")?,
        category: payload.require_text("category")?,
        title: payload.require_text("title")?,
        body: payload.find("body").unwrap_or_default(),
        timestamp: payload.require_text("timestamp")?,
        extra: Extra { envelope: envelope.rest(), payload: payload.rest() },
    };
    Ok(message.into())
}

fn verify_now(mut envelope: Fields) -> Result<Message, MessageError> {
    let branch_id = envelope.require_agent("branch_id")?;
    let extra = Extra { envelope: envelope.rest(), payload: Map::new() };
    Ok(VerifyNow { branch_id, extra }.into())
}

fn time(fields: &mut Fields, name: &str) -> Result<String, MessageError> {
    let text = fields.require_text(name)?;
    match text.parse::<Timestamp>() {
        Ok(_) => Ok(text),
        Err(_) => Err(MessageError::field(fields.path(name), "must be a time such as 2026-01-31T12:00:00Z")),
    }
}
