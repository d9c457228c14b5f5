//! One attempt of an executor: it is told what to do, watched, and ended with whatever it has started.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use paw_agent::cli;
use paw_agent::headless::{self, Turn, TurnEvent};
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, FileError};
use paw_host::process::{Command, Exit, ProcessError, Stream, end_marked};
use serde::{Deserialize, Serialize};

use super::temporary::is_temporary;
use super::{Executor, Kind};
use crate::limit::follow_within;

/// What an executor is asked to do, and where. It can be handed to another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    pub prompt: String,
    pub task: String,
    pub subtask: String,
    /// `RED`, `GREEN` or `EXPAND`.
    pub phase: String,
    pub attempt: u32,
    /// Where it works.
    pub root: PathBuf,
    /// The command that runs the tests, which it may use. Without one it only answers.
    pub test_command: Option<String>,
    /// What it starts carries this.
    pub mark: String,
    /// Everything it says is kept here.
    pub log: PathBuf,
    pub limit: Duration,
}

/// How an attempt ended. Whether it was any good is for the tests to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turned {
    pub exit: Exit,
    pub took: Duration,
    /// In millionths of a dollar, where it says so.
    pub cost: u64,
    /// What is wrong, by its own words or its code.
    pub complaint: Option<String>,
    /// Asking again later may help.
    pub temporary: bool,
    /// Processes that it left running, and that were ended.
    pub left: usize,
    /// The text it said, for those who asked for one.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error("cannot start the executor: {0}")]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
    /// Whoever sat in front of the place where it worked has ended it.
    #[error("{0}")]
    Closed(String),
    #[error("{0}")]
    NoPlace(String),
}

impl Diagnostic for TurnError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::File(error) => error.report(),
            Self::Process(_) | Self::Closed(_) | Self::NoPlace(_) => {
                ErrorReport::new(ErrorCode::FailedPrecondition, self)
            }
        }
    }
}

/// The most that is kept of what an executor says.
const MOST: u64 = 64 << 20;

impl Executor {
    /// Lets it work. `on_text` hears what it says, line by line, as it says it.
    pub fn work(&self, order: &Assignment, on_text: &mut dyn FnMut(&str)) -> Result<Turned, TurnError> {
        let watch = Stopwatch::start();
        let mut listener = match &self.kind {
            Kind::Cli { .. } => Some(headless::listener(cli::descriptor(&self.name))),
            Kind::Own { .. } => None,
        };
        if let Some(dir) = order.log.parent() {
            files::create_dir(dir)?;
        }
        let opened = OpenOptions::new().append(true).create(true).open(&order.log);
        let mut log =
            opened.map_err(|source| FileError { action: "write", path: order.log.clone(), source })?;
        let (mut text, mut kept, mut last_words) = (String::new(), 0_u64, String::new());
        let running = self.command(order).start(&order.mark)?;
        let exit = follow_within(running, order.limit, |stream, line| {
            kept += line.len() as u64 + 1;
            if kept <= MOST {
                // A full disk must not end the executor's work.
                let _ = log.write_all(line).and_then(|()| log.write_all(b"\n"));
            }
            if let Some(listener) = &mut listener {
                for event in listener.read_line(stream, line) {
                    said(&event, &mut text, on_text);
                }
            } else {
                let line = String::from_utf8_lossy(line);
                if stream == Stream::Out {
                    push(&mut text, &line);
                }
                if !line.trim().is_empty() {
                    line.trim().clone_into(&mut last_words);
                }
                on_text(&line);
            }
            ControlFlow::Continue(())
        })?;
        let left = end_marked(&order.mark);
        let (complaint, cost) = match listener {
            Some(listener) => {
                let done = listener.finish(exit);
                (done.message, millionths(done.cost_usd))
            }
            None if exit.success() => (None, 0),
            None if last_words.is_empty() => (Some(exit.to_string()), 0),
            None => (Some(format!("{exit}: {last_words}")), 0),
        };
        let temporary = complaint.as_deref().is_some_and(|words| is_temporary(exit, words));
        Ok(Turned { exit, took: watch.elapsed(), cost, complaint, temporary, left, text })
    }

    fn command(&self, order: &Assignment) -> Command {
        let command = match &self.kind {
            Kind::Cli { program } => {
                let turn = Turn { message: &order.prompt, resume: None, model: None };
                let cli = cli::descriptor(&self.name);
                headless::unattended(cli, program, &order.root, turn, order.test_command.as_deref())
            }
            Kind::Own { command } => {
                let program = command.first().cloned().unwrap_or_default();
                headless::custom_command(
                    Command::new(program).args(&command[1..]),
                    &order.root,
                    &order.prompt,
                )
            }
        };
        command
            // Whoever carries this cannot approve anything on the user's behalf.
            .env("GIT_PAW_AGENT_ID", "autopilot")
            .env("PAW_TASK", &order.task)
            .env("PAW_SUBTASK", &order.subtask)
            .env("PAW_PHASE", &order.phase)
            .env("PAW_ATTEMPT", order.attempt.to_string())
    }
}

fn said(event: &TurnEvent, text: &mut String, on_text: &mut dyn FnMut(&str)) {
    match event {
        TurnEvent::Text(words) => {
            push(text, words);
            words.lines().filter(|line| !line.trim().is_empty()).for_each(on_text);
        }
        TurnEvent::ToolUse { name, .. } => on_text(&format!("[{name}]")),
        TurnEvent::PermissionDenied { message, .. } => on_text(&format!("[denied] {message}")),
        TurnEvent::Error(message) => on_text(&format!("[error] {message}")),
        TurnEvent::ToolResult { .. } | TurnEvent::Raw(_) => {}
    }
}

/// Only the end matters to whoever reads it, and only so much of it.
fn push(text: &mut String, words: &str) {
    const ENOUGH: usize = 1 << 20;
    if text.len() < ENOUGH {
        text.push_str(words);
        text.push('\n');
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a sum somebody could pay"
)]
fn millionths(dollars: Option<f64>) -> u64 {
    match dollars {
        Some(dollars) if (0.0..1e9).contains(&dollars) => (dollars * 1e6) as u64,
        _ => 0,
    }
}
