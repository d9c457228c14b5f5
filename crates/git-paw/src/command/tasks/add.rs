//! `git paw tasks add`

use clap::Args;
use paw_autopilot::tasks::{ItemId, NewTask, Priority, TaskId};
use paw_core::PawError;
use paw_host::clock;
use serde_json::json;

use super::{CommonArgs, find_project, view};
use crate::context::Context;

/// Add a task, or a subtask to a task
///
/// The first task makes the file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks add \"Count what users do\" --priority high
  git paw tasks add \"Add the schema\" --parent 42
  git paw tasks add \"Add the endpoint\" --parent 42 --depends-on 42.1")]
pub(super) struct AddArgs {
    title: String,
    /// What it is about (the title, if you leave this out)
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// How to do it
    #[arg(long, value_name = "TEXT")]
    details: Option<String>,
    /// How to prove it
    #[arg(long, value_name = "TEXT")]
    test_strategy: Option<String>,
    /// critical, high, medium or low
    #[arg(long)]
    priority: Option<String>,
    /// What has to be done before; can be given several times
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// Make it a subtask of this task
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

pub(super) fn run(args: &AddArgs, context: &Context) -> Result<(), PawError> {
    let new = new_task(args)?;
    let (project, tag) = find_project(&args.common, context)?;
    let id = project.add_task(&tag, &new, clock::now())?;
    if context.output.wants_json() {
        return context.output.document(&json!({"tag": tag, "id": id}));
    }
    context.output.say(&format!("added {} to '{}': {}", id.noun(), tag, view::line(&new.title)))
}

fn new_task(args: &AddArgs) -> Result<NewTask, PawError> {
    let title = args.title.trim();
    if title.is_empty() {
        return Err(PawError::TaskError("a task needs a title".into()));
    }
    let dependencies: Result<Vec<ItemId>, _> = args.depends_on.iter().map(|id| id.parse()).collect();
    Ok(NewTask {
        title: title.to_owned(),
        description: args.description.clone(),
        details: args.details.clone(),
        test_strategy: args.test_strategy.clone(),
        priority: args.priority.as_deref().map(str::parse::<Priority>).transpose()?,
        dependencies: dependencies?,
        parent: args.parent.as_deref().map(TaskId::new).transpose()?,
    })
}
