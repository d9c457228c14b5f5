//! Setup of a new worktree: setup commands, then the repository's own setup script.
//!
//! [`plan`] decides what to run and whether it needs approval; [`run`] runs it and stops at the first failure. A failed
//! setup is an outcome, not an error: the worktree stays. This module does not ask for approval.

mod plan;
mod script;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use paw_core::text;
use paw_core::{BranchName, ErrorCode, ErrorReport};
use paw_host::git::Repo;
use paw_host::process::{Command, Exit};

pub use plan::{SetupPlan, SetupTrust, plan};

use plan::{SetupStep, StepAction};
use script::Script;

use crate::run_sandbox::{RunSandbox, RunSandboxError};

/// The status of a worktree's setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupStatus {
    /// Nothing to run.
    None,
    Success,
    Failed,
    Timeout,
    /// The repository's steps are not approved.
    Untrusted,
}

impl SetupStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Untrusted => "untrusted",
        }
    }
}

impl fmt::Display for SetupStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The status, and why the setup failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupOutcome {
    pub status: SetupStatus,
    pub error: Option<String>,
}

impl SetupOutcome {
    fn new(status: SetupStatus, error: impl Into<String>) -> Self {
        Self { status, error: Some(error.into()) }
    }

    /// The error to show to the user, if the setup failed.
    pub fn problem(&self) -> Option<ErrorReport> {
        let error = self.error.as_deref().unwrap_or_default();
        let report =
            ErrorReport::new(ErrorCode::FailedPrecondition, format!("setup {}: {error}", self.status));
        match self.status {
            SetupStatus::None | SetupStatus::Success => None,
            SetupStatus::Failed | SetupStatus::Timeout => Some(report),
            SetupStatus::Untrusted => {
                Some(report.hint("review it and approve it with 'git paw trust', or pass --trust"))
            }
        }
    }
}

/// Runs the plan's steps in the worktree, and passes every line they print, sanitized, to `on_line`.
///
/// Steps get a minimal environment with `WORKTREE_PATH` and `WORKTREE_BRANCH`, an empty stdin, and the configured sandbox.
/// The run stops at the first step that is not approved.
pub fn run(
    plan: &SetupPlan,
    worktree: &Path,
    branch: &BranchName,
    on_line: impl FnMut(&str),
) -> SetupOutcome {
    run_as(plan, worktree, branch, &|command| command, on_line)
}

/// Like [`run`], with every command changed by `confine` first.
pub fn run_as(
    plan: &SetupPlan,
    worktree: &Path,
    branch: &BranchName,
    confine: &dyn Fn(Command) -> Command,
    mut on_line: impl FnMut(&str),
) -> SetupOutcome {
    if plan.steps.is_empty() {
        return SetupOutcome { status: SetupStatus::None, error: None };
    }
    let sandbox = match open_sandbox(plan, worktree) {
        Ok(sandbox) => sandbox,
        Err(error) => return SetupOutcome::new(SetupStatus::Failed, format!("did not run: {error}")),
    };
    for step in &plan.steps {
        let failure = if step.from_repository && !plan.approved {
            Some(SetupOutcome::new(SetupStatus::Untrusted, untrusted_message(&plan.steps)))
        } else {
            match command_for(step) {
                Ok(command) => {
                    let command = with_environment(command, plan.limit, worktree, branch);
                    run_step(step, &sandbox.apply(confine(command)), &sandbox, &mut on_line)
                }
                Err(refused) => Some(refused),
            }
        };
        if let Some(outcome) = failure {
            return outcome;
        }
    }
    SetupOutcome { status: SetupStatus::Success, error: None }
}

fn command_for(step: &SetupStep) -> Result<Command, SetupOutcome> {
    match &step.action {
        StepAction::Shell(text) => Ok(Command::new("sh").args(["-c", "--", text])),
        StepAction::Script(script) if script.is_unchanged() => Ok(command_for_script(script)),
        StepAction::Script(_) => Err(SetupOutcome::new(
            SetupStatus::Untrusted,
            format!("{} was changed after it was approved: not run", step.name),
        )),
        StepAction::Refused(reason) => {
            Err(SetupOutcome::new(SetupStatus::Failed, format!("{} {reason}: not run", step.name)))
        }
    }
}

/// Runs the script through a shell, so that a missing interpreter is reported as an exit code.
fn command_for_script(script: &Script) -> Command {
    if script.runs_itself {
        Command::new("sh").args(["-c", r#"exec "$0""#]).arg(&script.path)
    } else {
        Command::new("sh").arg(&script.path)
    }
}

fn open_sandbox(plan: &SetupPlan, worktree: &Path) -> Result<RunSandbox, RunSandboxError> {
    RunSandbox::open(plan.sandbox, &Repo::discover(&plan.main_checkout)?, worktree)
}

fn with_environment(
    command: Command,
    limit: Option<Duration>,
    worktree: &Path,
    branch: &BranchName,
) -> Command {
    let command = command
        .dir(worktree)
        .harmless_environment()
        .env("WORKTREE_PATH", worktree)
        .env("WORKTREE_BRANCH", branch.as_str());
    match limit {
        Some(limit) => command.time_limit(limit),
        None => command,
    }
}

fn run_step(
    step: &SetupStep,
    command: &Command,
    sandbox: &RunSandbox,
    on_line: &mut impl FnMut(&str),
) -> Option<SetupOutcome> {
    let mut denied = sandbox.denied_paths();
    let ran = command.stream(|_, bytes| {
        let line = String::from_utf8_lossy(bytes);
        if let Some(denied) = &mut denied {
            denied.read(&line);
        }
        on_line(&text::output_line(&line));
    });
    let mut failure = match ran {
        Ok(exit) => failure_of(&step.name, exit)?,
        Err(error) => SetupOutcome::new(SetupStatus::Failed, format!("{} did not run: {error}", step.name)),
    };
    if let (Some(error), Some(note)) = (&mut failure.error, denied.and_then(|denied| denied.note())) {
        *error = format!("{error} ({note})");
    }
    Some(failure)
}

/// The outcome of a failed step, or None if it succeeded.
fn failure_of(name: &str, exit: Exit) -> Option<SetupOutcome> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(_) | Exit::Signal(_) => {
            Some(SetupOutcome::new(SetupStatus::Failed, format!("{name} {exit}")))
        }
        Exit::TimedOut { .. } => {
            Some(SetupOutcome::new(SetupStatus::Timeout, format!("Setup command '{name}' {exit}")))
        }
    }
}

fn untrusted_message(steps: &[SetupStep]) -> String {
    let names: Vec<_> =
        steps.iter().filter(|step| step.from_repository).map(|step| step.name.as_str()).collect();
    format!("not run, because not approved: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(exit: Exit) -> String {
        failure_of("npm install", exit).unwrap().error.unwrap()
    }

    #[test]
    fn failed_setup_command_is_described_in_one_sentence() {
        assert_eq!(failure_of("npm install", Exit::Code(0)), None);
        assert_eq!(error(Exit::Code(1)), "npm install exited with code 1");
        assert_eq!(error(Exit::Code(127)), "npm install exited with code 127");
        assert_eq!(error(Exit::Signal(9)), "npm install was killed by signal 9");
        let limit = Duration::from_mins(1);
        assert_eq!(error(Exit::TimedOut { limit }), "Setup command 'npm install' timed out after 60s");
    }

    #[test]
    fn setup_statuses_have_stable_names() {
        use SetupStatus::{Failed, None, Success, Timeout, Untrusted};
        let words = [None, Success, Failed, Timeout, Untrusted].map(|status| status.to_string());
        assert_eq!(words, ["none", "success", "failed", "timeout", "untrusted"]);
    }
}
