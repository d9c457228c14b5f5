//! What CLIs tell by themselves: hooks of claude and codex, events of opencode.
//!
//! [`parse`] turns one record into an [`Event`], [`Tracker`] turns events into a state, [`settings`] writes the files
//! that make a CLI call us, and [`plugin`] is what does so in opencode. [`notes`] keeps what was told for whoever follows
//! the agent.

mod hook;
pub mod notes;
mod opencode;
pub mod plugin;
pub mod settings;
mod shorten;
pub mod tokens;
mod tracker;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::Value;

pub use tracker::{Heard, Tracker};

/// A record that is none.
#[derive(Debug, thiserror::Error)]
#[error("not a record of {cli}: {reason}")]
pub struct EventError {
    pub cli: String,
    pub reason: String,
}

impl Diagnostic for EventError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

/// What was told, and in which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What the CLI itself calls the conversation.
    pub conversation: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Started {
        anew: bool,
    },
    PromptTaken,
    Busy,
    ToolBegins(Deed),
    ApprovalAsked {
        id: Option<String>,
        deed: Deed,
    },
    ApprovalAnswered {
        id: String,
    },
    ToolEnded(Deed),
    /// Told some seconds after an approval was asked, and not taken back when it has been given since.
    ApprovalReminder,
    IdleReminder,
    TurnEnded,
    TurnFailed {
        reason: String,
        limited: bool,
    },
    /// It was refused for having asked too much, and tries again by itself.
    Limited {
        reason: String,
        /// When it does.
        resets: Option<String>,
    },
    SubagentBegins,
    SubagentEnded,
    Ended,
    /// Nothing that changes a state.
    Other(String),
}

/// What a tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Exactly this shell text.
    Command(String),
    /// Changes these files.
    Edit(Vec<String>),
    /// Asks the person something.
    Question,
    /// A tool by its name.
    Other(String),
}

/// Reads one record: the standard input of a hook, or the data of one event of a stream.
pub fn parse(cli: &str, record: &str) -> Result<Event, EventError> {
    let fail = |reason: String| EventError { cli: cli.to_owned(), reason };
    let record: Value = serde_json::from_str(record.trim()).map_err(|error| fail(error.to_string()))?;
    let event = match cli {
        "claude" | "codex" => hook::read(&record),
        "opencode" => opencode::read(&record),
        _ => return Err(fail("this CLI has no hooks that are known".to_owned())),
    };
    event.map_err(|field| fail(format!("it has no '{field}'")))
}

/// Whether what we say to a record of `cli` decides an approval that it asks for. How codex is answered is not known.
pub fn is_answerable(cli: &str) -> bool {
    matches!(cli, "claude" | "opencode")
}

/// How `cli` tells what it does, in a word.
pub fn way(cli: &str) -> &'static str {
    if cli == "opencode" { "events" } else { "hooks" }
}

/// A text that has to be there.
fn text(value: &Value, field: &'static str) -> Result<String, &'static str> {
    value[field].as_str().map(str::to_owned).ok_or(field)
}
