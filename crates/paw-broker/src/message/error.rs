//! Errors of message validation, as text and as the JSON of an HTTP response.

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::{Value, json};

use super::Message;

/// The text is not a valid message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("request body must not be empty")]
    Empty,
    #[error("not valid JSON: {0}")]
    Json(String),
    #[error("a message must be a JSON object, not {0}")]
    NotAnObject(&'static str),
    #[error("the message is nested more than {0} levels deep")]
    TooDeep(usize),
    #[error("unknown message type '{0}': expected one of {known}", known = Message::TYPES.join(", "))]
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

    /// The body of the HTTP response.
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
