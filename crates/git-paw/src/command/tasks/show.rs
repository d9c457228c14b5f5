//! `git paw tasks show`

use clap::Args;
use paw_autopilot::tasks::model::{list_field, text_field};
use paw_autopilot::tasks::project::require_item;
use paw_autopilot::tasks::{ItemId, Subtask, Task, TaskStatus};
use paw_core::PawError;
use paw_core::text;
use serde_json::{Map, Value, json};

use super::{TaskArgs, find_project, view};
use crate::context::Context;

/// Show a task or a subtask with all its fields
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw tasks show 42\n  git paw tasks show 42.1 --json")]
pub(crate) struct ShowArgs {
    /// Id of a task (42) or a subtask (42.1)
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) common: TaskArgs,
}

/// The common fields of a task and a subtask.
struct Shown<'a> {
    id: ItemId,
    title: &'a str,
    status: &'a TaskStatus,
    dependencies: &'a [ItemId],
    fields: &'a Map<String, Value>,
    subtasks: &'a [Subtask],
}

pub(super) fn run(args: &ShowArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let item: ItemId = args.id.parse()?;
    let (project, tag) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let task = require_item(&file, &tag, &item)?;
    shown(task, &item).map_or(Ok(()), |shown| print(&shown, context))
}

/// The answer for programs.
pub(crate) fn answer(args: &ShowArgs, context: &Context) -> Result<Value, PawError> {
    let item: ItemId = args.id.parse()?;
    let (project, tag) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let task = require_item(&file, &tag, &item)?;
    let Some(shown) = shown(task, &item) else { return Ok(Value::Null) };
    let summary = if shown.id == task.item() { view::task(task) } else { Value::Null };
    Ok(json!({"tag": tag, "id": shown.id, "title": shown.title, "status": shown.status,
        "dependencies": shown.dependencies, "subtasks": summary.get("subtasks"), "fields": shown.fields}))
}

fn shown<'a>(task: &'a Task, item: &ItemId) -> Option<Shown<'a>> {
    match item {
        ItemId::Task(_) => Some(Shown {
            id: task.item(),
            title: &task.title,
            status: &task.status,
            dependencies: &task.dependencies,
            fields: &task.fields,
            subtasks: &task.subtasks,
        }),
        ItemId::Subtask(_, id) => task.find_subtask(id).map(|subtask| Shown {
            id: subtask.item(),
            title: &subtask.title,
            status: &subtask.status,
            dependencies: &subtask.dependencies,
            fields: &subtask.fields,
            subtasks: &[],
        }),
    }
}

fn print(shown: &Shown<'_>, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let status = view::status(shown.status, context);
    output.say(&format!("{} {status} {}", shown.id, text::line(shown.title)))?;
    if !shown.dependencies.is_empty() {
        let ids: Vec<_> = shown.dependencies.iter().map(ToString::to_string).collect();
        output.say(&format!("depends on: {}", ids.join(", ")))?;
    }
    for (name, title) in [("description", ""), ("details", "Details"), ("testStrategy", "Test strategy")] {
        if let Some(text) = text_field(shown.fields, name) {
            output.say("")?;
            if !title.is_empty() {
                output.say(&format!("{title}:"))?;
            }
            text::block(text).lines().try_for_each(|line| output.say(line))?;
        }
    }
    let criteria = list_field(shown.fields, "acceptanceCriteria");
    if !criteria.is_empty() {
        output.say("\nAcceptance criteria:")?;
        criteria.iter().try_for_each(|line| output.say(&format!("- {}", text::line(line))))?;
    }
    if !shown.subtasks.is_empty() {
        output.say("\nSubtasks:")?;
    }
    for subtask in shown.subtasks {
        let status = view::status(&subtask.status, context);
        output.say(&format!("{} {status} {}", subtask.item(), text::line(&subtask.title)))?;
    }
    Ok(())
}
