//! `git paw tasks list`

use clap::Args;
use paw_autopilot::tasks::project::require_tag;
use paw_autopilot::tasks::{Task, TaskStatus};
use paw_core::PawError;
use paw_core::text;
use serde_json::{Value, json};

use super::{TaskArgs, find_project, view};
use crate::context::Context;

/// List the tasks of a tag
///
/// Also reports problems in the file, such as duplicate ids and dependencies that cannot be met.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks list
  git paw tasks list --status pending --tag analytics")]
pub(crate) struct ListArgs {
    /// List only tasks with this status
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    #[command(flatten)]
    pub(crate) common: TaskArgs,
}

pub(super) fn run(args: &ListArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let wanted = wanted(args)?;
    let (project, name) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let tag = require_tag(&file, &name)?;
    let tasks: Vec<&Task> = tag.tasks.iter().filter(|task| wanted(task)).collect();
    for problem in &tag.problems {
        context.output.warn(&text::line(&problem.to_string()));
    }
    if tasks.is_empty() {
        return context.output.say(&format!("no tasks in tag '{}'", text::line(name.as_str())));
    }
    for task in tasks {
        print(task, context)?;
    }
    Ok(())
}

/// The answer for programs.
pub(crate) fn answer(args: &ListArgs, context: &Context) -> Result<Value, PawError> {
    let wanted = wanted(args)?;
    let (project, name) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let tag = require_tag(&file, &name)?;
    let tasks: Vec<Value> = tag.tasks.iter().filter(|task| wanted(task)).map(view::task).collect();
    Ok(json!({"tag": name, "tags": file.tag_names(), "tasks": tasks, "problems": tag.problems}))
}

fn wanted(args: &ListArgs) -> Result<impl Fn(&Task) -> bool, PawError> {
    let status = args.status.as_deref().map(str::parse::<TaskStatus>).transpose()?;
    Ok(move |task: &Task| status.as_ref().is_none_or(|status| task.status == *status))
}

fn print(task: &Task, context: &Context) -> Result<(), PawError> {
    let row = |indent: &str, id: String, status: &TaskStatus, title: &str| {
        let line = format!("{indent}{id} {} {}", view::status(status, context), text::line(title));
        context.output.say(&line)
    };
    row("", task.id.to_string(), &task.status, &task.title)?;
    let mut subtasks = task.subtasks.iter();
    subtasks.try_for_each(|subtask| row("  ", subtask.item().to_string(), &subtask.status, &subtask.title))
}
