//! Errors of a step. The run is unchanged.

use std::path::PathBuf;

use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError};
use paw_host::files::FileError;
use paw_host::git::{CleanCheckoutError, GitError};
use paw_host::process::ProcessError;
use paw_supervisor::gates::GateError;
use paw_worktree::copy::CopyError;

use super::update_base::BaseUpdateError;
use crate::artifacts::RunId;
use crate::branch::BranchNameError;
use crate::engine::UnexpectedEvent;
use crate::engine::resume::ResumeError;
use crate::engine::state::NothingToDo;
use crate::evidence::Objection;
use crate::executor::turn::TurnError;
use crate::runners::TestRunError;
use crate::runners::detect::DetectError;
use crate::tasks::{TaskError, TaskId};

#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("no files to work on: this is a bare repository")]
    NoWorktree,
    #[error("autopilot is switched off for this project")]
    Off,
    #[error("no autopilot run is in progress here")]
    NoRun,
    #[error("another autopilot is running in {}", .0.display())]
    Busy(PathBuf),
    #[error("run {run} of task {task} is not finished")]
    Unfinished { run: RunId, task: TaskId },
    #[error("autopilot cannot start:\n{}", lines(.0))]
    NotReady(Vec<String>),
    #[error("no task is ready")]
    NothingReady,
    #[error("'{0}' is a subtask; a run does a whole task")]
    OnlyTasks(String),
    #[error("the project's test command is not approved: {0}")]
    NotApproved(String),
    #[error("cannot {wanted} now: the run is {stage}")]
    NotNow { wanted: &'static str, stage: &'static str },
    #[error("nothing was committed, because the tests are not green any more:\n{}", lines(&messages(.0)))]
    NotProven(Vec<Objection>),
    #[error("the run is paused: {0}")]
    Paused(String),
    #[error("the run's checkout for tests is gone: {}", .0.display())]
    NoCheckout(PathBuf),
    #[error("the run cannot resume: it was paused because of {0}, which is still changed")]
    StillChanged(String),
    #[error("cannot commit: {0}")]
    Commit(String),
    #[error(transparent)]
    Tasks(#[from] TaskError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Checkout(#[from] CleanCheckoutError),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Turn(#[from] TurnError),
    #[error(transparent)]
    Run(#[from] TestRunError),
    #[error(transparent)]
    Detect(#[from] DetectError),
    #[error(transparent)]
    Branch(#[from] BranchNameError),
    #[error(transparent)]
    Nothing(#[from] NothingToDo),
    #[error(transparent)]
    Refused(#[from] UnexpectedEvent),
    #[error(transparent)]
    Resume(#[from] ResumeError),
    #[error(transparent)]
    NoUpdate(#[from] BaseUpdateError),
    #[error(transparent)]
    Gates(#[from] GateError),
    #[error(transparent)]
    Paw(#[from] PawError),
}

impl Diagnostic for WorkError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        let refused = || ErrorReport::new(ErrorCode::InvalidArgument, self);
        match self {
            Self::NoWorktree => report.hint("cd into a worktree"),
            Self::Off => refused().hint("autopilot.enabled in .taskmaster/config.json"),
            Self::NoRun => report.hint("git paw autopilot TASK starts one"),
            Self::Busy(_) => report.hint("wait until it is done, or stop it with Ctrl+C"),
            Self::Unfinished { .. } => report.hint(
                "git paw autopilot --resume continues it; --force=run gives it up and starts a new one",
            ),
            Self::NotReady(_) | Self::NotProven(_) | Self::Commit(_) => report,
            Self::NothingReady => report.hint("git paw tasks list shows what there is"),
            Self::OnlyTasks(_) => report.hint("name its task"),
            Self::NotApproved(_) => {
                refused().hint("look at it, then approve it with --trust, or name a runner with --runner")
            }
            Self::NotNow { .. } => report.hint("git paw autopilot status shows what is next"),
            Self::NoCheckout(_) => {
                report.hint("git paw autopilot --resume --force=protected creates it again, with the dependencies as they are now")
            }
            Self::StillChanged(_) => {
                report.hint("undo the change, or allow it with git paw autopilot --resume --force=protected")
            }
            Self::Paused(_) => report.hint("git paw autopilot --resume continues it"),
            Self::Tasks(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::Checkout(error) => error.report(),
            Self::Copy(error) => error.report(),
            Self::Process(error) => error.report(),
            Self::Turn(error) => error.report(),
            Self::Run(error) => error.report(),
            Self::Detect(error) => error.report(),
            Self::Branch(error) => error.report(),
            Self::Nothing(error) => error.report(),
            Self::Refused(error) => error.report(),
            Self::Resume(error) => error.report(),
            Self::NoUpdate(error) => error.report(),
            Self::Gates(error) => error.report(),
            Self::Paw(error) => error.report(),
        }
    }
}

fn lines(all: &[String]) -> String {
    all.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

fn messages(objections: &[Objection]) -> Vec<String> {
    objections.iter().map(ToString::to_string).collect()
}
