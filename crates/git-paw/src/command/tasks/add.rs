//! `git paw tasks add`

use clap::Args;
use paw_autopilot::tasks::{ItemId, NewTask, Priority, TaskId};
use paw_core::text;
use paw_core::{ErrorCode, PawError};
use paw_host::clock;
use paw_session::specs::SpecFormat;
use serde_json::{Value, json};

use super::{TaskArgs, find_project, from_spec};
use crate::context::Context;

/// Add a task, or a subtask to a task
///
/// The first task creates the file. With --spec, an OpenSpec, Markdown or Spec Kit spec becomes the task: its title, its text
/// as details, its open tasks as subtasks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks add \"Count what users do\" --priority high
  git paw tasks add \"Add the schema\" --parent 42
  git paw tasks add \"Add the endpoint\" --parent 42 --depends-on 42.1
  git paw tasks add --spec add-login --dry-run")]
pub(crate) struct AddArgs {
    #[arg(required_unless_present = "spec")]
    pub(crate) title: Option<String>,
    /// Create the task from this spec (a name as in `git paw start --specs`)
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["parent", "details"])]
    pub(crate) spec: Option<String>,
    /// Format of the specs: openspec, markdown, speckit or superpowers
    #[arg(long, value_name = "FORMAT", requires = "spec")]
    pub(crate) specs_format: Option<SpecFormat>,
    /// Print the task without writing it
    #[arg(long, requires = "spec")]
    pub(crate) dry_run: bool,
    /// Short description [default: the title]
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Implementation details
    #[arg(long, value_name = "TEXT")]
    pub(crate) details: Option<String>,
    /// How to test it
    #[arg(long, value_name = "TEXT")]
    pub(crate) test_strategy: Option<String>,
    /// Priority: critical, high, medium or low
    #[arg(long)]
    pub(crate) priority: Option<String>,
    /// A task or subtask that must be done first; repeatable
    #[arg(long, value_name = "TASK")]
    pub(crate) depends_on: Vec<String>,
    /// Add it as a subtask of this task
    #[arg(long, value_name = "TASK")]
    pub(crate) parent: Option<String>,
    #[command(flatten)]
    pub(crate) common: TaskArgs,
}

pub(super) fn run(args: &AddArgs, context: &Context) -> Result<(), PawError> {
    if let Some(spec) = &args.spec {
        return from_spec::run(args, spec, context);
    }
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let new = new_task(args, args.title.as_deref().unwrap_or_default())?;
    let (project, tag) = find_project(&args.common, context)?;
    let id = project.add_task(&tag, &new, clock::now())?;
    context.output.say(&format!("added {} to '{}': {}", id.noun(), tag, text::line(&new.title)))
}

/// The answer for programs.
pub(crate) fn answer(args: &AddArgs, context: &Context) -> Result<Value, PawError> {
    let new = new_task(args, args.title.as_deref().unwrap_or_default())?;
    let (project, tag) = find_project(&args.common, context)?;
    let id = project.add_task(&tag, &new, clock::now())?;
    Ok(json!({"tag": tag, "id": id}))
}

pub(super) fn new_task(args: &AddArgs, title: &str) -> Result<NewTask, PawError> {
    let title = title.trim();
    if title.is_empty() {
        return Err(PawError::new(ErrorCode::FailedPrecondition, "a task needs a title"));
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
