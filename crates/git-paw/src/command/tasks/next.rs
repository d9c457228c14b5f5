//! `git paw tasks next`

use clap::Args;
use paw_autopilot::tasks::next::next_item;
use paw_autopilot::tasks::project::{require_item, require_tag};
use paw_autopilot::tasks::{ItemId, Task};
use paw_core::PawError;
use paw_core::text;
use serde_json::{Value, json};

use super::{TaskArgs, find_project, view};
use crate::context::Context;

/// Show the next task or subtask to do
///
/// Open subtasks of tasks in progress come before new tasks; then priority, fewer dependencies and the smaller id decide. An
/// item with open dependencies is never next.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw tasks next\n  git paw tasks next --json")]
pub(crate) struct NextArgs {
    #[command(flatten)]
    pub(crate) common: TaskArgs,
}

pub(super) fn run(args: &NextArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let (project, tag) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let next = next_item(&require_tag(&file, &tag)?.tasks);
    let found = match &next {
        Some(item) => Some((item, require_item(&file, &tag, item)?)),
        None => None,
    };
    match found {
        None => context.output.say("nothing is ready (see git paw tasks list for open dependencies)"),
        Some((item, task)) => {
            context.output.say(&format!("{item} {}", text::line(title(item, task))))?;
            context.output.say(&format!("start it: git paw tasks set-status {item} in-progress"))
        }
    }
}

/// The answer for programs.
pub(crate) fn answer(args: &NextArgs, context: &Context) -> Result<Value, PawError> {
    let (project, tag) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let next = match next_item(&require_tag(&file, &tag)?.tasks) {
        Some(item) => document(&item, require_item(&file, &tag, &item)?),
        None => Value::Null,
    };
    Ok(json!({"tag": tag, "next": next}))
}

fn title<'a>(item: &ItemId, task: &'a Task) -> &'a str {
    match item {
        ItemId::Task(_) => &task.title,
        ItemId::Subtask(_, id) => task.find_subtask(id).map_or("", |subtask| &subtask.title),
    }
}

fn document(item: &ItemId, task: &Task) -> Value {
    match item {
        ItemId::Task(_) => view::task(task),
        ItemId::Subtask(_, id) => task.find_subtask(id).map_or(Value::Null, view::subtask),
    }
}
