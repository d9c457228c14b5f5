//! `git paw tasks set-status`

use clap::Args;
use paw_autopilot::tasks::{ItemId, TaskStatus};
use paw_core::PawError;
use serde_json::{Value, json};

use super::{TaskArgs, find_project, view};
use crate::context::Context;

/// Set the status of a task or a subtask
///
/// A subtask changes its task, too: the first one started sets it to in-progress, the last one done sets it to done. A done
/// task closes its open subtasks.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  git paw tasks set-status 42.1 done\n  git paw tasks set-status 42 review"
)]
pub(crate) struct SetStatusArgs {
    /// Id of a task (42) or a subtask (42.1)
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
    /// New status: pending, in-progress, done, review, blocked, deferred or cancelled
    pub(crate) status: String,
    #[command(flatten)]
    pub(crate) common: TaskArgs,
}

pub(super) fn run(args: &SetStatusArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let (item, status): (ItemId, TaskStatus) = (args.id.parse()?, args.status.parse()?);
    let (project, tag) = find_project(&args.common, context)?;
    let changed = project.set_status(&tag, &item, &status)?;
    if changed.is_empty() {
        return context.output.say(&format!("{item} is already {status}"));
    }
    changed.iter().try_for_each(|(item, status)| {
        context.output.say(&format!("{item} {}", view::status(status, context)))
    })
}

/// The answer for programs.
pub(crate) fn answer(args: &SetStatusArgs, context: &Context) -> Result<Value, PawError> {
    let (item, status): (ItemId, TaskStatus) = (args.id.parse()?, args.status.parse()?);
    let (project, tag) = find_project(&args.common, context)?;
    let changed = project.set_status(&tag, &item, &status)?;
    let changed: Vec<Value> =
        changed.iter().map(|(item, status)| json!({"id": item, "status": status})).collect();
    Ok(json!({"tag": tag, "changed": changed}))
}
