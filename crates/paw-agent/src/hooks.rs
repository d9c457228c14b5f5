//! Reads what CLIs report through hooks or through a plugin.
//!
//! A CLI's [`Hooks`] describe how they are installed ([`install`], [`settings`]) and how a record is read. [`parse`] turns one
//! record into an [`HookEvent`], [`Tracker`] turns events into a state, [`notes`] stores the records of each agent, and
//! [`transcript`] reads the CLI's own transcript.

pub mod install;
pub mod notes;
pub(crate) mod record;
pub mod settings;
mod tracker;
pub mod transcript;

use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::Value;

pub use install::{HookEnvironment, HookInstall};
pub use tracker::{ReportedState, Tracker};

use crate::cli::Cli;
use transcript::TranscriptUsage;

/// Longer tool input is not stored.
pub(crate) const MAX_INPUT: usize = 32 * 1024;

/// The hooks of one CLI.
#[derive(Debug)]
pub struct Hooks {
    /// Their name in the explanation of a state.
    pub source: &'static str,
    pub install: HookInstall,
    /// Reads one record. The error is the name of a missing field.
    pub read: fn(&Value) -> Result<HookEvent, &'static str>,
    /// Reduces a record to the parts that affect the agent's state. Only these are stored.
    pub shorten: fn(&Value) -> Value,
    /// The answer that approves a request once. `None` if the CLI accepts no answer from a hook.
    pub allow: Option<fn() -> Value>,
    /// The answer that refuses an event, with a reason. `None` if the CLI accepts no refusal from a hook.
    pub refuse: Option<fn(&HookEventKind, &str) -> Value>,
    /// What the conversation has used, from a line of its transcript, or from a record.
    pub usage: Option<fn(&Value) -> Option<TranscriptUsage>>,
    /// Finds the directory in which a pending command would run. Without it, commands run in the worktree.
    pub command_directory: Option<CommandDirectory>,
}

/// The directory of a command, from the transcript and the worktree, or `None` if it is uncertain.
pub type CommandDirectory = fn(transcript: &Path, command: &str, worktree: &Path) -> Option<PathBuf>;

/// Text that is not a record of a CLI's hooks.
#[derive(Debug, thiserror::Error)]
#[error("not a hook record: {0}")]
pub struct HookRecordError(String);

impl Diagnostic for HookRecordError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

/// One reported event, and its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// The CLI's id of the conversation.
    pub conversation: String,
    pub kind: HookEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEventKind {
    /// A conversation started; `fresh` if the CLI itself was just started.
    Started {
        fresh: bool,
    },
    PromptSubmitted,
    Busy,
    ToolStarted(ToolAction),
    ApprovalRequested {
        id: Option<String>,
        action: ToolAction,
    },
    ApprovalAnswered {
        id: String,
    },
    ToolEnded(ToolAction),
    /// Sent some seconds after an approval was requested, even if it was answered in the meantime.
    ApprovalReminder,
    IdleReminder,
    TurnEnded,
    TurnFailed {
        reason: String,
        limited: bool,
    },
    /// The provider limits the request rate, and the CLI retries by itself.
    RateLimited {
        reason: String,
        /// When it retries.
        resets: Option<String>,
    },
    SubagentStarted,
    SubagentEnded,
    Ended,
    /// An event that does not affect the state.
    Other(String),
}

/// What a tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    /// Runs exactly this shell command.
    Command(String),
    /// Changes these files.
    Edit(Vec<String>),
    /// Asks the user a question.
    Question,
    /// Any other tool, by name.
    Other(String),
}

/// Parses one record: the standard input of a hook, or one event of a plugin.
pub fn parse(cli: &Cli, record: &str) -> Result<HookEvent, HookRecordError> {
    let record: Value =
        serde_json::from_str(record.trim()).map_err(|error| HookRecordError(error.to_string()))?;
    let hooks = cli.hooks.ok_or_else(|| HookRecordError("this CLI has no known hooks".to_owned()))?;
    (hooks.read)(&record).map_err(|field| HookRecordError(format!("missing field '{field}'")))
}

/// A required string field.
pub(crate) fn text(value: &Value, field: &'static str) -> Result<String, &'static str> {
    value[field].as_str().map(str::to_owned).ok_or(field)
}
