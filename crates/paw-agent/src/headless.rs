//! One turn of a CLI without a screen: how it is started, and what its lines mean.
//!
//! A message goes in on standard input, where it can be neither an option nor too long. What comes out is read by the
//! CLI's [`Dialect`] and becomes [`Event`]s; [`Listener::conclude`] says how the turn ended. Starting the process,
//! and ending it, is the business of whoever holds the [`Command`].

mod claude;
mod codex;
mod event;
mod gemini;
mod listener;
mod opencode;
mod plain;
mod unattended;

use std::ffi::OsString;
use std::path::Path;

use paw_host::process::Command;
use serde_json::Value;

pub use event::{Done, Event};
pub use listener::Listener;
pub use unattended::{own, unattended};

/// What is said in one turn, and what it continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<'a> {
    pub message: &'a str,
    /// What the CLI itself calls the conversation so far.
    pub resume: Option<&'a str>,
    pub model: Option<&'a str>,
}

/// How a turn ended according to the CLI: well, or not and why.
type Verdict = Result<(), String>;

/// The lines of one CLI, in their order.
trait Dialect: Send {
    /// A line of its standard output.
    fn out(&mut self, line: &str) -> Vec<Event>;

    /// A line of its standard error, which most CLIs use for people.
    fn err(&mut self, _line: &str) -> Vec<Event> {
        Vec::new()
    }

    /// What it has said about itself so far.
    fn facts(&self) -> Facts;
}

/// What a CLI says about a turn besides its events.
#[derive(Debug, Clone, Default, PartialEq)]
struct Facts {
    session: Option<String>,
    cost_usd: Option<f64>,
    turns: Option<u32>,
    /// Nothing when it ended without a word about how.
    verdict: Option<Verdict>,
}

/// A row of the table: the arguments of a turn, and who reads its lines.
struct Headless {
    arguments: fn(Turn<'_>) -> Vec<OsString>,
    dialect: fn() -> Box<dyn Dialect>,
}

/// CLIs without a row of their own read the message from standard input and answer in plain text.
fn table(cli: &str) -> Headless {
    match cli {
        "claude" => {
            Headless { arguments: claude::arguments, dialect: || Box::new(claude::Claude::default()) }
        }
        "codex" => Headless { arguments: codex::arguments, dialect: || Box::new(codex::Codex::default()) },
        "gemini" => {
            Headless { arguments: gemini::arguments, dialect: || Box::new(gemini::Gemini::default()) }
        }
        "opencode" => {
            Headless { arguments: opencode::arguments, dialect: || Box::new(opencode::OpenCode::default()) }
        }
        "aider" => Headless { arguments: plain::aider, dialect: || Box::new(plain::Plain) },
        "amp" => Headless { arguments: plain::amp, dialect: || Box::new(plain::Plain) },
        "droid" => Headless { arguments: plain::droid, dialect: || Box::new(plain::Plain) },
        _ => Headless { arguments: |_| Vec::new(), dialect: || Box::new(plain::Plain) },
    }
}

/// The process of one turn. It inherits the user's environment, but not what would make git look at another repository
/// or let the agent speak for another one.
pub fn command(cli: &str, program: &Path, worktree: &Path, turn: Turn<'_>) -> Command {
    let command =
        Command::new(program).args((table(cli).arguments)(turn)).dir(worktree).input(turn.message.as_bytes());
    neutral(command)
}

/// Without what belongs to another repository or another agent.
fn neutral(command: Command) -> Command {
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

/// Somebody who understands the lines of this CLI.
pub fn listener(cli: &str) -> Listener {
    Listener::new((table(cli).dialect)())
}

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// `--name=value` in one word, so that no value can pass for an option.
fn option(name: &str, value: Option<&str>) -> Option<OsString> {
    value.map(|value| format!("{name}={value}").into())
}

/// A line that is a JSON object.
fn json(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// A line that is none.
fn raw_text(line: &str) -> Vec<Event> {
    if line.trim().is_empty() { Vec::new() } else { vec![Event::Raw(Value::String(line.to_owned()))] }
}

/// A text as it is, anything else as JSON, nothing as nothing.
fn string(value: &Value) -> String {
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

    fn typed(cli: &str, resume: Option<&str>, model: Option<&str>) -> String {
        let turn = Turn { message: "--help", resume, model };
        command(cli, Path::new(cli), Path::new("/w"), turn).to_string()
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
        let command = command("mine", Path::new("/bin/mine"), Path::new("/w"), turn);
        assert_eq!(command.directory(), Some(Path::new("/w")));
        let bare = Command::new("/bin/mine").dir("/w").input("hello");
        assert_ne!(command, bare, "variables of another repository are taken away");
    }
}
