//! Why a text is not a message, in words and as the JSON that a client is answered with.

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::{Value, json};

use super::Message;

/// A text that is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("request body must not be empty")]
    Empty,
    #[error("not valid JSON: {0}")]
    Json(String),
    #[error("a message is a JSON object, not {0}")]
    NotAnObject(&'static str),
    #[error("a message may be nested {0} levels deep at most")]
    TooDeep(usize),
    #[error("unknown message type '{0}': known are {known}", known = Message::TYPES.join(", "))]
    UnknownType(String),
    #[error("invalid {field} '{value}': {detail}")]
    AgentId { field: &'static str, value: String, detail: String },
    #[error("field '{field}' looks like an unfilled placeholder: {value}")]
    Placeholder { field: String, value: String },
    #[error("field '{field}' {problem}")]
    Field { field: String, problem: String },
}

impl Diagnostic for MessageError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

impl MessageError {
    pub(super) fn field(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Field { field: field.into(), problem: problem.into() }
    }

    /// The body of the answer.
    pub fn to_json(&self) -> Value {
        match self {
            Self::AgentId { field, value, detail } => {
                json!({"error": format!("invalid {field}"), "value": value, "detail": detail})
            }
            Self::Placeholder { field, value } => json!({
                "error": "field looks like an unfilled placeholder",
                "field": field,
                "value": value,
                "detail": "substitute the real value before publishing",
            }),
            Self::UnknownType(_) => json!({"error": self.to_string(), "known": Message::TYPES}),
            _ => json!({"error": self.to_string()}),
        }
    }
}
