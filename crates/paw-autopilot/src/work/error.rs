//! Why a step could not be taken. The run is what it was before it.

use std::path::PathBuf;

use paw_core::PawError;
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_host::process::ProcessError;

use super::update_base::NoUpdate;
use crate::artifacts::RunId;
use crate::branch::NoBranchName;
use crate::coverage::CoverageError;
use crate::engine::Refused;
use crate::engine::resume::ResumeRefused;
use crate::engine::state::NothingToDo;
use crate::evidence::Objection;
use crate::executor::turn::TurnError;
use crate::runners::RunError;
use crate::runners::detect::DetectError;
use crate::tasks::{TaskError, TaskId};

#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("there are no files to work on here: this is a bare repository (cd into a worktree)")]
    NoWorktree,
    #[error("autopilot is switched off for this project\nhint: autopilot.enabled in .taskmaster/config.json")]
    Off,
    #[error("no autopilot run is under way here\nhint: git paw autopilot TASK begins one")]
    NoRun,
    #[error("another autopilot is at work in {}\nhint: wait until it is done, or stop it with Ctrl+C", .0.display())]
    Busy(PathBuf),
    #[error(
        "run {run} of task {task} is not finished\n\
         hint: git paw autopilot --resume goes on with it; --force=run gives it up and begins anew"
    )]
    Unfinished { run: RunId, task: TaskId },
    #[error("autopilot cannot begin:\n{}", lines(.0))]
    NotReady(Vec<String>),
    #[error("nothing is ready to be done (git paw tasks list shows what there is)")]
    NothingReady,
    #[error("'{0}' is a subtask; a run does a whole task\nhint: name its task")]
    OnlyTasks(String),
    #[error(
        "this project wants its tests to be run by a command of its own, which nobody has approved: {0}\n\
         hint: look at it, then approve it with --trust, or name a runner with --runner"
    )]
    NotApproved(String),
    #[error(
        "this is not the time to {wanted}: the run is {stage}\nhint: git paw autopilot status shows what is next"
    )]
    NotNow { wanted: &'static str, stage: &'static str },
    #[error("nothing was committed, because the tests are not green any more:\n{}", lines(&told(.0)))]
    NotProven(Vec<Objection>),
    #[error("the run is paused: {0}\nhint: git paw autopilot --resume goes on with it")]
    Paused(String),
    #[error("cannot commit: {0}")]
    Commit(String),
    #[error(transparent)]
    Tasks(#[from] TaskError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Turn(#[from] TurnError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Detect(#[from] DetectError),
    #[error(transparent)]
    Branch(#[from] NoBranchName),
    #[error(transparent)]
    Nothing(#[from] NothingToDo),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Resume(#[from] ResumeRefused),
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    #[error(transparent)]
    NoUpdate(#[from] NoUpdate),
    #[error(transparent)]
    Paw(#[from] PawError),
}

fn lines(all: &[String]) -> String {
    all.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

fn told(objections: &[Objection]) -> Vec<String> {
    objections.iter().map(ToString::to_string).collect()
}
