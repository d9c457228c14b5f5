//! The events and the outcome of a turn, in a form shared by all CLIs.

use serde_json::Value;

/// One event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    Text(String),
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        id: String,
        output: String,
        is_error: bool,
    },
    /// The CLI was not allowed to do something.
    PermissionDenied {
        id: Option<String>,
        name: Option<String>,
        input: Value,
        message: String,
    },
    /// An error that does not necessarily end the turn.
    Error(String),
    /// Output without a more specific event.
    Raw(Value),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    pub ok: bool,
    pub cost_usd: Option<f64>,
    /// The number of requests to the model.
    pub turns: Option<u32>,
    /// The CLI's id of the conversation, for resuming it.
    pub session: Option<String>,
    /// Why the turn failed.
    pub message: Option<String>,
}
