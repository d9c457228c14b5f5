//! What CLIs report about themselves, through hooks or through the events of a plugin.
//!
//! A CLI's [`Hooks`] say how they are installed ([`install`], [`settings`]) and how a record is read. [`parse`] turns one
//! record into an [`HookEvent`], [`Tracker`] turns events into a state, [`notes`] keeps the records of each agent, and
//! [`transcript`] reads what the CLI itself keeps.

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

/// What a tool is given is not kept beyond this.
pub(crate) const MAX_INPUT: usize = 32 * 1024;

/// The hooks of one CLI.
#[derive(Debug)]
pub struct Hooks {
    /// What they are called when a state is explained by them.
    pub source: &'static str,
    pub install: HookInstall,
    /// Reads one record. The error is the name of a missing field.
    pub read: fn(&Value) -> Result<HookEvent, &'static str>,
    /// The part of a record that can say something about the agent's state, which is what is kept.
    pub shorten: fn(&Value) -> Value,
    /// The answer that approves what a record asks for, once. Nothing where the CLI takes no answer from a hook.
    pub allow: Option<fn() -> Value>,
    /// The answer that refuses what an event is about, for a reason. Nothing where the CLI takes no refusal from a hook.
    pub refuse: Option<fn(&HookEventKind, &str) -> Value>,
    /// The size of the conversation in tokens, from a line of its transcript.
    pub tokens: Option<fn(&Value) -> Option<u64>>,
    /// Where a command that waits for approval would run. Without this, commands run in the worktree.
    pub command_directory: Option<CommandDirectory>,
}

/// The directory of a command, from the transcript and the worktree, or nothing where that is not certain.
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

/// What was told, and in which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// What the CLI itself calls the conversation.
    pub conversation: String,
    pub kind: HookEventKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEventKind {
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
    /// Told some seconds after an approval was asked, and not taken back when it has been given since.
    ApprovalReminder,
    IdleReminder,
    TurnEnded,
    TurnFailed {
        reason: String,
        limited: bool,
    },
    /// It was refused for having asked too much, and tries again by itself.
    RateLimited {
        reason: String,
        /// When it does.
        resets: Option<String>,
    },
    SubagentStarted,
    SubagentEnded,
    Ended,
    /// Nothing that changes a state.
    Other(String),
}

/// What a tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
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
pub fn parse(cli: &Cli, record: &str) -> Result<HookEvent, HookRecordError> {
    let record: Value =
        serde_json::from_str(record.trim()).map_err(|error| HookRecordError(error.to_string()))?;
    let hooks = cli.hooks.ok_or_else(|| HookRecordError("this CLI has no known hooks".to_owned()))?;
    (hooks.read)(&record).map_err(|field| HookRecordError(format!("it has no '{field}'")))
}

/// A text that has to be there.
pub(crate) fn text(value: &Value, field: &'static str) -> Result<String, &'static str> {
    value[field].as_str().map(str::to_owned).ok_or(field)
}
