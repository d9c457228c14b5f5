//! What CLIs report about themselves, through hooks or through the events of a plugin.
//!
//! A CLI's [`Hooks`] say how they are installed ([`install`], [`settings`]) and how a record is read. [`parse`] turns one
//! record into an [`Event`], [`Tracker`] turns events into a state, [`notes`] keeps the records of each agent, and
//! [`transcript`] reads what the CLI itself keeps.

pub(crate) mod hook;
pub mod install;
pub mod notes;
pub mod settings;
mod tracker;
pub mod transcript;

use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::Value;

pub use install::{HookEnvironment, Install};
pub use tracker::{Heard, Tracker};

use crate::cli::Cli;

/// What a tool is given is not kept beyond this.
pub(crate) const MOST_INPUT: usize = 32 * 1024;

/// The hooks of one CLI.
#[derive(Debug)]
pub struct Hooks {
    /// What they are called when a state is explained by them.
    pub source: &'static str,
    pub install: Install,
    /// Reads one record. The error is the name of a missing field.
    pub read: fn(&Value) -> Result<Event, &'static str>,
    /// The part of a record that can say something about the agent's state, which is what is kept.
    pub shorten: fn(&Value) -> Value,
    /// The answer that approves what a record asks for, once. Nothing where the CLI takes no answer from a hook.
    pub allow: Option<fn() -> Value>,
    /// The answer that refuses what an event is about, for a reason. Nothing where the CLI takes no refusal from a hook.
    pub refuse: Option<fn(&What, &str) -> Value>,
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
pub struct EventError(String);

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
pub fn parse(cli: &Cli, record: &str) -> Result<Event, EventError> {
    let record: Value = serde_json::from_str(record.trim()).map_err(|error| EventError(error.to_string()))?;
    let hooks = cli.hooks.ok_or_else(|| EventError("this CLI has no known hooks".to_owned()))?;
    (hooks.read)(&record).map_err(|field| EventError(format!("it has no '{field}'")))
}

/// A text that has to be there.
pub(crate) fn text(value: &Value, field: &'static str) -> Result<String, &'static str> {
    value[field].as_str().map(str::to_owned).ok_or(field)
}
