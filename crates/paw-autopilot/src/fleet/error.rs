//! Why several tasks cannot be done together. Nothing has been made yet.

use paw_core::PawError;

use crate::tasks::{TaskError, TaskId};
use crate::work::WorkError;

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("task {0} is named twice\nhint: name each task once")]
    Twice(TaskId),
    #[error("these tasks wait for each other, so none of them can begin: {}\nhint: git paw tasks show {} shows what it depends on", circle(.0), .0.first().map(TaskId::as_str).unwrap_or_default())]
    Circle(Vec<TaskId>),
    #[error(
        "task {task} waits for {dependency}, which is {state} and not among the tasks you named\nhint: name {first} too, or finish it first"
    )]
    WaitsFor { task: TaskId, dependency: String, state: String, first: TaskId },
    #[error("{file} is not on {base}, so the worktrees would have no tasks\nhint: commit it to {base}")]
    NoTasks { file: String, base: String },
    #[error("{file} on {base} cannot be read: {problem}\nhint: mend it and commit it to {base}")]
    Unreadable { file: String, base: String, problem: String },
    #[error("there is no base branch to begin from\nhint: git.pr.base in .taskmaster/config.json names one")]
    NoBase,
    #[error(
        "there is no branch '{0}' to begin from, here or on a remote\nhint: git fetch, or change git.pr.base in .taskmaster/config.json"
    )]
    NoSuchBase(String),
    #[error(
        "tasks {one} and {other} would both be done on branch {branch}\nhint: put {{id}} into git.branchPattern in .taskmaster/config.json"
    )]
    SameBranch { one: TaskId, other: TaskId, branch: String },
    #[error(transparent)]
    Tasks(#[from] TaskError),
    #[error(transparent)]
    Work(#[from] WorkError),
}

fn circle(tasks: &[TaskId]) -> String {
    let names: Vec<&str> = tasks.iter().chain(tasks.first()).map(TaskId::as_str).collect();
    names.join(" → ")
}

impl From<FleetError> for PawError {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Tasks(error) => error.into(),
            FleetError::Work(error) => error.into(),
            other => Self::TaskError(other.to_string()),
        }
    }
}
