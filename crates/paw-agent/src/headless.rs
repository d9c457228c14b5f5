//! Runs one turn of a CLI without a screen, and reads its output.
//!
//! The message goes in on standard input, where it can be neither an option nor too long. The output is read by the
//! CLI's [`OutputReader`] and becomes [`TurnEvent`]s; [`TurnListener::finish`] returns how the turn ended. The caller
//! starts and ends the process.

mod event;
mod listener;
mod plain;
pub(crate) mod unattended;

use std::ffi::OsString;
use std::path::Path;

use paw_host::process::Command;
use serde_json::Value;

pub use event::{TurnEvent, TurnOutcome};
pub use listener::TurnListener;
pub use plain::PLAIN;
pub use unattended::{custom_command, unattended};

use crate::cli::Cli;

/// The input of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<'a> {
    pub message: &'a str,
    /// The CLI's id of the conversation to resume.
    pub resume: Option<&'a str>,
    pub model: Option<&'a str>,
}

/// How one CLI runs a turn without a screen.
#[derive(Debug, Clone, Copy)]
pub struct Headless {
    /// The arguments of a turn, without the message, which comes on standard input.
    pub arguments: fn(Turn<'_>) -> Vec<OsString>,
    /// Reads what the CLI prints during one turn.
    pub reader: fn() -> Box<dyn OutputReader>,
    /// How it runs unattended, if it can be restricted to edits and tests.
    pub unattended: Option<Unattended>,
}

/// How a CLI runs unattended.
#[derive(Debug, Clone, Copy)]
pub struct Unattended {
    /// If no CLI is configured, the installed one with the lowest number is used.
    pub preference: u8,
    /// Restricts the command to editing files and running the given test command. Without a test command it may only
    /// read.
    pub restrict: fn(Command, Option<&str>) -> Command,
}

/// Reads the output lines of one turn in order.
pub trait OutputReader: Send {
    /// Reads a line of standard output.
    fn out(&mut self, line: &str) -> Vec<TurnEvent>;

    /// Reads a line of standard error, where most CLIs print text for people.
    fn err(&mut self, _line: &str) -> Vec<TurnEvent> {
        Vec::new()
    }

    /// What the output has contained about the turn so far.
    fn facts(&self) -> TurnFacts;
}

/// What a CLI reports about a turn besides its events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFacts {
    /// The CLI's id of the conversation.
    pub session: Option<String>,
    pub cost_usd: Option<f64>,
    pub turns: Option<u32>,
    /// The result that the CLI reported, if any.
    pub verdict: Option<Result<(), String>>,
}

/// The process of one turn. It inherits the user's environment, except variables that point git to another repository
/// or let the agent act as another one.
pub fn command(cli: &Cli, program: &Path, worktree: &Path, turn: Turn<'_>) -> Command {
    let arguments = (cli.headless.arguments)(turn);
    without_foreign_variables(
        Command::new(program).args(arguments).dir(worktree).input(turn.message.as_bytes()),
    )
}

/// Removes variables that belong to another repository or another agent.
fn without_foreign_variables(command: Command) -> Command {
    let foreign = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PAW_BROKER_URL",
        "GIT_PAW_BROKER_TOKEN",
        "GIT_PAW_AGENT_ID",
    ];
    foreign.into_iter().fold(command, Command::env_remove)
}

/// A listener for the output of this CLI.
pub fn listener(cli: &Cli) -> TurnListener {
    TurnListener::new((cli.headless.reader)())
}

pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// `--name=value` in one word, so that no value can be mistaken for an option.
pub(crate) fn option(name: &str, value: Option<&str>) -> Option<OsString> {
    value.map(|value| format!("{name}={value}").into())
}

/// Parses a line that is a JSON object.
pub(crate) fn json(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// The event for a line that is not JSON.
pub(crate) fn raw_text(line: &str) -> Vec<TurnEvent> {
    if line.trim().is_empty() { Vec::new() } else { vec![TurnEvent::Raw(Value::String(line.to_owned()))] }
}

/// A string as it is, null as an empty string, anything else as JSON.
pub(crate) fn string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod recorded;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn typed(cli: &str, resume: Option<&str>, model: Option<&str>) -> String {
        let turn = Turn { message: "--help", resume, model };
        command(cli::descriptor(cli), Path::new(cli), Path::new("/w"), turn).to_string()
    }

    #[test]
    fn a_turn_never_has_its_message_on_the_command_line() {
        let clis = ["claude", "codex", "gemini", "opencode", "aider", "amp", "droid", "mine"];
        let lines =
            clis.map(|cli| format!("{}\n{}", typed(cli, None, None), typed(cli, Some("-s"), Some("-m"))));
        insta::assert_snapshot!(lines.join("\n"), @r"
        claude -p --output-format stream-json --verbose
        claude -p --output-format stream-json --verbose --model=-m --resume=-s
        codex exec --json -
        codex exec --json --model=-m resume -- -s -
        gemini -o stream-json
        gemini -o stream-json --model=-m --resume=-s
        opencode run --format json
        opencode run --format json --model=-m --session=-s
        aider --message-file /dev/stdin --no-pretty --no-stream
        aider --message-file /dev/stdin --no-pretty --no-stream --model=-m
        amp -x
        amp -x
        droid exec
        droid exec --model=-m
        mine
        mine
        ");
    }

    #[test]
    fn a_turn_runs_in_its_worktree_without_variables_of_another_repository() {
        let turn = Turn { message: "hello", resume: None, model: None };
        let command = command(cli::descriptor("mine"), Path::new("/bin/mine"), Path::new("/w"), turn);
        assert_eq!(command.directory(), Some(Path::new("/w")));
        let bare = Command::new("/bin/mine").dir("/w").input("hello");
        assert_ne!(command, bare, "variables of another repository are removed");
    }
}
