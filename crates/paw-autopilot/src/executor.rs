//! The program that writes tests and code: a known AI CLI in headless mode, or a configured program.
//!
//! - [`turn`]: one attempt; [`ExecutorBackend`]: where it runs
//! - [`temporary`]: whether a failure is worth a retry

pub mod temporary;
pub mod turn;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use paw_agent::cli::{self, Cli};
use paw_core::config::ExecutorConfig;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::process::find_program;
use serde::{Deserialize, Serialize};

pub use turn::{ExecutorTask, TurnError, TurnResult};

/// Where an executor runs.
pub trait ExecutorBackend {
    /// Runs one attempt. `on_text` receives the executor's output.
    fn work(
        &mut self,
        executor: &Executor,
        assignment: &ExecutorTask,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<TurnResult, TurnError>;
}

/// Runs the executor as a child of this process.
#[derive(Debug, Clone, Copy)]
pub struct ChildBackend;

impl ExecutorBackend for ChildBackend {
    fn work(
        &mut self,
        executor: &Executor,
        assignment: &ExecutorTask,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<TurnResult, TurnError> {
        executor.work(assignment, on_text)
    }
}

/// Supported AI CLIs, in the order they are searched.
pub fn known() -> Vec<&'static str> {
    let ranked =
        |cli: &'static Cli| cli.headless.unattended.map(|unattended| (unattended.preference, cli.name));
    let mut known: Vec<_> = cli::ALL.iter().filter_map(ranked).collect();
    known.sort_unstable();
    known.into_iter().map(|(_, name)| name).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executor {
    pub name: String,
    pub limit: Duration,
    kind: ExecutorKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum ExecutorKind {
    Cli { program: PathBuf },
    Own { command: Vec<String> },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    #[error("there is no executor '{name}' (known: {}{})", known().join(", "), shown(own))]
    Unknown { name: String, own: Vec<String> },
    #[error("the executor '{0}' is not installed: no such program on PATH")]
    NotInstalled(String),
    #[error("the executor '{0}' has an empty command ([autopilot.executors.{0}] command)")]
    Empty(String),
    #[error("no executor to write tests and code: none of {} is installed", known().join(", "))]
    NoneInstalled,
}

fn shown(own: &[String]) -> String {
    if own.is_empty() { String::new() } else { format!(", configured: {}", own.join(", ")) }
}

impl Executor {
    /// Finds the executor: a configured one before a known CLI of the same name; without a name, the first installed
    /// CLI.
    pub fn choose(
        name: Option<&str>,
        own: &BTreeMap<String, ExecutorConfig>,
        search_path: &OsStr,
        limit: Duration,
    ) -> Result<Self, ExecutorError> {
        let Some(name) = name else {
            let known = known();
            let there = known.iter().find(|cli| find_program(cli, search_path).is_some());
            return Self::choose(Some(there.ok_or(ExecutorError::NoneInstalled)?), own, search_path, limit);
        };
        let kind = match own.get(name) {
            Some(own) if own.command.first().is_none_or(|program| program.trim().is_empty()) => {
                return Err(ExecutorError::Empty(name.to_owned()));
            }
            Some(own) => ExecutorKind::Own { command: own.command.clone() },
            None if known().contains(&name) => {
                let program = find_program(name, search_path);
                ExecutorKind::Cli {
                    program: program.ok_or_else(|| ExecutorError::NotInstalled(name.to_owned()))?,
                }
            }
            None => {
                let own = own.keys().cloned().collect();
                return Err(ExecutorError::Unknown { name: name.to_owned(), own });
            }
        };
        Ok(Self { name: name.to_owned(), limit, kind })
    }

    /// The program that must be installed.
    pub fn program(&self) -> String {
        match &self.kind {
            ExecutorKind::Cli { .. } => self.name.clone(),
            ExecutorKind::Own { command } => command.first().cloned().unwrap_or_default(),
        }
    }
}

impl Diagnostic for ExecutorError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::InvalidArgument, self);
        match self {
            Self::Unknown { name, .. } => report.hint(format!(
                "install it, or configure your own program as [autopilot.executors.{name}] command = [\"prog\", \"arg\"]"
            )),
            Self::NoneInstalled => report.hint(
                "install one, or name your own program with --executor ([autopilot.executors.NAME] command = [\"prog\"])",
            ),
            Self::NotInstalled(_) | Self::Empty(_) => report,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: Option<&str>, own: &[(&str, &[&str])]) -> Result<Executor, ExecutorError> {
        let own = own.iter().map(|(name, command)| {
            let command = command.iter().map(ToString::to_string).collect();
            ((*name).to_owned(), ExecutorConfig { command })
        });
        Executor::choose(name, &own.collect(), OsStr::new("/no/such/dir"), Duration::from_secs(1))
    }

    #[test]
    fn configured_executor_wins_and_refusals_have_hints() {
        assert_eq!(chosen(Some("claude"), &[("claude", &["mine", "x"])]).unwrap().program(), "mine");
        assert_eq!(chosen(Some("claude"), &[]), Err(ExecutorError::NotInstalled("claude".into())));
        assert_eq!(chosen(Some("mine"), &[("mine", &[" "])]), Err(ExecutorError::Empty("mine".into())));
        assert_eq!(chosen(None, &[]), Err(ExecutorError::NoneInstalled));
        assert_eq!(known(), ["claude", "codex", "gemini", "aider", "opencode"]);
        let error = chosen(Some("unknown"), &[("mine", &["x"])]).unwrap_err().report().to_string();
        assert!(
            error.contains("configured: mine") && error.contains("[autopilot.executors.unknown]"),
            "{error}"
        );
    }
}
