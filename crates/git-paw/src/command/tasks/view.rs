//! Tasks as people and programs see them.

use paw_autopilot::tasks::{Status, Subtask, Task};
use paw_core::text;
use serde_json::{Value, json};

use crate::context::Context;
use crate::output::Style;

pub(super) fn status(status: &Status, context: &Context) -> String {
    let style = match status {
        Status::Done => Style::Good,
        Status::InProgress | Status::Review => Style::Bold,
        Status::Blocked | Status::Other(_) => Style::Doubtful,
        Status::Pending | Status::Deferred | Status::Cancelled => Style::Dim,
    };
    context.output.paint(style, &format!("[{}]", text::line(status.as_str())))
}

/// A task with what every reader needs; all its other fields are in `fields`.
pub(super) fn task(task: &Task) -> Value {
    let subtasks: Vec<Value> = task.subtasks.iter().map(subtask).collect();
    json!({"id": task.id, "title": task.title, "status": task.status,
        "priority": task.priority.unwrap_or_default(), "dependencies": task.dependencies, "subtasks": subtasks})
}

pub(super) fn subtask(subtask: &Subtask) -> Value {
    json!({"id": subtask.item(), "title": subtask.title, "status": subtask.status,
        "dependencies": subtask.dependencies})
}
