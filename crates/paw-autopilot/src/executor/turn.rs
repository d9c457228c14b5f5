//! One attempt of an executor: it gets a prompt, runs under a time limit, and is killed with everything it started.

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
use super::{Executor, ExecutorKind};
use crate::time_limit::follow_with_limit;

/// What the executor is asked to do, and where. Can be sent to another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorTask {
    pub prompt: String,
    pub task: String,
    pub subtask: String,
    /// `RED`, `GREEN` or `EXPAND`.
    pub phase: String,
    pub attempt: u32,
    /// The working directory.
    pub root: PathBuf,
    /// The test command it may use. Without one it only answers.
    pub test_command: Option<String>,
    /// Marks every process it starts.
    pub mark: String,
    /// The log of its output.
    pub log: PathBuf,
    pub limit: Duration,
}

/// How an attempt ended. The tests decide whether it succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnResult {
    pub exit: Exit,
    pub took: Duration,
    /// In millionths of a dollar, if reported.
    pub cost: u64,
    /// The error message or exit status, if it failed.
    pub complaint: Option<String>,
    /// A retry may succeed.
    pub temporary: bool,
    /// Processes it left running, now killed.
    pub left: usize,
    /// The text it printed.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error("cannot start the executor: {0}")]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
    /// The user closed the executor's pane.
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

/// The size limit of the log.
const MOST: u64 = 64 << 20;

impl Executor {
    /// Runs the executor. `on_text` receives its output line by line.
    pub fn work(
        &self,
        assignment: &ExecutorTask,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<TurnResult, TurnError> {
        let watch = Stopwatch::start();
        let mut listener = match &self.kind {
            ExecutorKind::Cli { .. } => Some(headless::listener(cli::descriptor(&self.name))),
            ExecutorKind::Own { .. } => None,
        };
        if let Some(dir) = assignment.log.parent() {
            files::create_dir(dir)?;
        }
        let opened = OpenOptions::new().append(true).create(true).open(&assignment.log);
        let mut log =
            opened.map_err(|source| FileError { action: "write", path: assignment.log.clone(), source })?;
        let (mut text, mut kept, mut last_words) = (String::new(), 0_u64, String::new());
        let running = self.command(assignment).start(&assignment.mark)?;
        let exit = follow_with_limit(running, assignment.limit, |stream, line| {
            kept += line.len() as u64 + 1;
            if kept <= MOST {
                // A full disk must not stop the executor.
                let _ = log.write_all(line).and_then(|()| log.write_all(b"\n"));
            }
            if let Some(listener) = &mut listener {
                for event in listener.read_line(stream, line) {
                    handle_event(&event, &mut text, on_text);
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
        let left = end_marked(&assignment.mark);
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
        Ok(TurnResult { exit, took: watch.elapsed(), cost, complaint, temporary, left, text })
    }

    fn command(&self, assignment: &ExecutorTask) -> Command {
        let command = match &self.kind {
            ExecutorKind::Cli { program } => {
                let turn = Turn { message: &assignment.prompt, resume: None, model: None };
                let cli = cli::descriptor(&self.name);
                headless::unattended(cli, program, &assignment.root, turn, assignment.test_command.as_deref())
            }
            ExecutorKind::Own { command } => {
                let program = command.first().cloned().unwrap_or_default();
                headless::custom_command(
                    Command::new(program).args(&command[1..]),
                    &assignment.root,
                    &assignment.prompt,
                )
            }
        };
        without_push(command)
            // A process with this identity cannot approve anything for the user.
            .env("GIT_PAW_AGENT_ID", "autopilot")
            .env("PAW_TASK", &assignment.task)
            .env("PAW_SUBTASK", &assignment.subtask)
            .env("PAW_PHASE", &assignment.phase)
            .env("PAW_ATTEMPT", assignment.attempt.to_string())
    }
}

/// Makes `git push` fail for the executor: git finds no program for this address. What gets past it is detected.
fn without_push(command: Command) -> Command {
    let known =
        std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    command
        .env("GIT_CONFIG_COUNT", (known + 1).to_string())
        .env(format!("GIT_CONFIG_KEY_{known}"), "url.autopilot-does-not-push:.pushInsteadOf")
        .env(format!("GIT_CONFIG_VALUE_{known}"), "")
}

fn handle_event(event: &TurnEvent, text: &mut String, on_text: &mut dyn FnMut(&str)) {
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

/// Keeps the text bounded.
fn push(text: &mut String, words: &str) {
    const ENOUGH: usize = 1 << 20;
    if text.len() < ENOUGH {
        text.push_str(words);
        text.push('\n');
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn millionths(dollars: Option<f64>) -> u64 {
    match dollars {
        Some(dollars) if (0.0..1e9).contains(&dollars) => (dollars * 1e6) as u64,
        _ => 0,
    }
}
