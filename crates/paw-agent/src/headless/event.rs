//! What a CLI does and says during a turn, in words that hold for all of them.

use serde_json::Value;

/// One thing that happened.
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
    /// Something went wrong; the turn may go on.
    Error(String),
    /// What the CLI said and we have no word for.
    Raw(Value),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    pub ok: bool,
    pub cost_usd: Option<f64>,
    /// How often the model was asked.
    pub turns: Option<u32>,
    /// What the CLI calls the conversation, for resuming it.
    pub session: Option<String>,
    /// Why it is not ok.
    pub message: Option<String>,
}
