//! Formats tasks for text and JSON output.

use paw_autopilot::tasks::{Subtask, Task, TaskStatus};
use paw_core::text;
use serde_json::{Value, json};

use crate::context::Context;
use crate::output::Style;

pub(super) fn status(status: &TaskStatus, context: &Context) -> String {
    let style = match status {
        TaskStatus::Done => Style::Success,
        TaskStatus::InProgress | TaskStatus::Review => Style::Bold,
        TaskStatus::Blocked | TaskStatus::Other(_) => Style::Warning,
        TaskStatus::Pending | TaskStatus::Deferred | TaskStatus::Cancelled => Style::Dim,
    };
    context.output.paint(style, &format!("[{}]", text::line(status.as_str())))
}

/// The summary of a task; `tasks show` has all its fields.
pub(super) fn task(task: &Task) -> Value {
    let subtasks: Vec<Value> = task.subtasks.iter().map(subtask).collect();
    json!({"id": task.id, "title": task.title, "status": task.status,
        "priority": task.priority.unwrap_or_default(), "dependencies": task.dependencies, "subtasks": subtasks})
}

pub(super) fn subtask(subtask: &Subtask) -> Value {
    json!({"id": subtask.item(), "title": subtask.title, "status": subtask.status,
        "dependencies": subtask.dependencies})
}
