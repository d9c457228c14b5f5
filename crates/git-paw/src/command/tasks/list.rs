//! `git paw tasks list`

use clap::Args;
use paw_autopilot::tasks::project::require_tag;
use paw_autopilot::tasks::{Status, Task};
use paw_core::PawError;
use serde_json::{Value, json};

use super::{CommonArgs, find_project, view};
use crate::context::Context;

/// List the tasks of a tag
///
/// What is wrong with the file (ids that are there twice, dependencies that cannot be met) is said as well.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks list
  git paw tasks list --status pending --tag analytics")]
pub(super) struct ListArgs {
    /// Only those with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

pub(super) fn run(args: &ListArgs, context: &Context) -> Result<(), PawError> {
    let wanted = args.status.as_deref().map(str::parse::<Status>).transpose()?;
    let (project, name) = find_project(&args.common, context)?;
    let file = project.load_tasks()?;
    let tag = require_tag(&file, &name)?;
    let wanted = |task: &&Task| wanted.as_ref().is_none_or(|wanted| task.status == *wanted);
    let tasks: Vec<&Task> = tag.tasks.iter().filter(wanted).collect();
    if context.output.wants_json() {
        let tasks: Vec<Value> = tasks.into_iter().map(view::task).collect();
        let document =
            json!({"tag": name, "tags": file.tag_names(), "tasks": tasks, "problems": tag.problems});
        return context.output.document(&document);
    }
    for problem in &tag.problems {
        context.output.warn(&view::line(&problem.to_string()));
    }
    if tasks.is_empty() {
        return context.output.say(&format!("no tasks in tag '{}'", view::line(name.as_str())));
    }
    for task in tasks {
        print(task, context)?;
    }
    Ok(())
}

fn print(task: &Task, context: &Context) -> Result<(), PawError> {
    let row = |indent: &str, id: String, status: &Status, title: &str| {
        let line = format!("{indent}{id} {} {}", view::status(status, context), view::line(title));
        context.output.say(&line)
    };
    row("", task.id.to_string(), &task.status, &task.title)?;
    let mut subtasks = task.subtasks.iter();
    subtasks.try_for_each(|subtask| row("  ", subtask.item().to_string(), &subtask.status, &subtask.title))
}
