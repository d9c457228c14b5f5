//! One turn of a CLI without a screen: how it is started, and what its lines mean.
//!
//! A message goes in on standard input, where it can be neither an option nor too long. What comes out is read by the
//! CLI's [`OutputReader`] and becomes [`TurnEvent`]s; [`TurnListener::conclude`] says how the turn ended. The caller starts
//! and ends the process.

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

/// What is said in one turn, and what it continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<'a> {
    pub message: &'a str,
    /// What the CLI itself calls the conversation so far.
    pub resume: Option<&'a str>,
    pub model: Option<&'a str>,
}

/// How one CLI takes a turn without a screen.
#[derive(Debug, Clone, Copy)]
pub struct Headless {
    /// The arguments of a turn. The message is not among them: it comes on standard input.
    pub arguments: fn(Turn<'_>) -> Vec<OsString>,
    /// Reads what the CLI prints during one turn.
    pub reader: fn() -> Box<dyn OutputReader>,
    /// How it works unattended, if it can be restricted to edits and tests.
    pub unattended: Option<Unattended>,
}

/// How a CLI works unattended.
#[derive(Debug, Clone, Copy)]
pub struct Unattended {
    /// Where none is named, the installed CLI with the lowest number is used.
    pub preference: u8,
    /// Adds what lets it change files and run the given test command, and nothing else of consequence; without a test
    /// command it may only read.
    pub restrict: fn(Command, Option<&str>) -> Command,
}

/// Reads the lines of one turn, in their order.
pub trait OutputReader: Send {
    /// A line of its standard output.
    fn out(&mut self, line: &str) -> Vec<TurnEvent>;

    /// A line of its standard error, which most CLIs use for people.
    fn err(&mut self, _line: &str) -> Vec<TurnEvent> {
        Vec::new()
    }

    /// What it has said about itself so far.
    fn facts(&self) -> TurnFacts;
}

/// What a CLI says about a turn besides its events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFacts {
    /// What it calls the conversation.
    pub session: Option<String>,
    pub cost_usd: Option<f64>,
    pub turns: Option<u32>,
    /// How the turn went, or nothing when it ended without saying so.
    pub verdict: Option<Result<(), String>>,
}

/// The process of one turn. It inherits the user's environment, but not what would make git look at another repository
/// or let the agent speak for another one.
pub fn command(cli: &Cli, program: &Path, worktree: &Path, turn: Turn<'_>) -> Command {
    let arguments = (cli.headless.arguments)(turn);
    without_foreign_variables(
        Command::new(program).args(arguments).dir(worktree).input(turn.message.as_bytes()),
    )
}

/// Without what belongs to another repository or another agent.
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

/// A listener that understands the lines of this CLI.
pub fn listener(cli: &Cli) -> TurnListener {
    TurnListener::new((cli.headless.reader)())
}

pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// `--name=value` in one word, so that no value can pass for an option.
pub(crate) fn option(name: &str, value: Option<&str>) -> Option<OsString> {
    value.map(|value| format!("{name}={value}").into())
}

/// A line that is a JSON object.
pub(crate) fn json(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// A line that is none.
pub(crate) fn raw_text(line: &str) -> Vec<TurnEvent> {
    if line.trim().is_empty() { Vec::new() } else { vec![TurnEvent::Raw(Value::String(line.to_owned()))] }
}

/// A text as it is, anything else as JSON, nothing as nothing.
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
    fn every_cli_is_started_its_own_way_and_never_with_the_message_on_its_command_line() {
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
    fn a_turn_runs_in_its_worktree_and_does_not_look_at_another_repository() {
        let turn = Turn { message: "hello", resume: None, model: None };
        let command = command(cli::descriptor("mine"), Path::new("/bin/mine"), Path::new("/w"), turn);
        assert_eq!(command.directory(), Some(Path::new("/w")));
        let bare = Command::new("/bin/mine").dir("/w").input("hello");
        assert_ne!(command, bare, "variables of another repository are taken away");
    }
}
