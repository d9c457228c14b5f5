//! Errors raised before any task starts.

use paw_core::{Diagnostic, ErrorCode, ErrorReport};

use crate::tasks::{TaskError, TaskId};
use crate::work::WorkError;

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("task {0} is named twice")]
    Twice(TaskId),
    #[error("these tasks depend on each other, so none of them can start: {}", circle(.0))]
    Circle(Vec<TaskId>),
    #[error("task {task} depends on {dependency}, which is {state} and not in the request")]
    WaitsFor { task: TaskId, dependency: String, state: String, first: TaskId },
    #[error("{file} is not on {base}, so the worktrees would have no tasks")]
    NoTasks { file: String, base: String },
    #[error("{file} on {base} cannot be read: {problem}")]
    Unreadable { file: String, base: String, problem: String },
    #[error("there is no base branch to start from")]
    NoBase,
    #[error("there is no branch '{0}' to start from, local or on a remote")]
    NoSuchBase(String),
    #[error("tasks {one} and {other} would both be done on branch {branch}")]
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

impl Diagnostic for FleetError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Twice(_) => report.hint("name each task once"),
            Self::Circle(tasks) => {
                let first = tasks.first().map(TaskId::as_str).unwrap_or_default();
                report.hint(format!("git paw tasks show {first} shows what it depends on"))
            }
            Self::WaitsFor { first, .. } => report.hint(format!("name {first} too, or finish it first")),
            Self::NoTasks { base, .. } => report.hint(format!("commit it to {base}")),
            Self::Unreadable { base, .. } => report.hint(format!("fix it and commit it to {base}")),
            Self::NoBase => report.hint("git.pr.base in .taskmaster/config.json names one"),
            Self::NoSuchBase(_) => report.hint("git fetch, or change git.pr.base in .taskmaster/config.json"),
            Self::SameBranch { .. } => {
                report.hint("put {id} into git.branchPattern in .taskmaster/config.json")
            }
            Self::Tasks(error) => error.report(),
            Self::Work(error) => error.report(),
        }
    }
}
