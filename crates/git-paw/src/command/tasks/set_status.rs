//! `git paw tasks set-status`

use clap::Args;
use paw_autopilot::tasks::{ItemId, Status};
use paw_core::PawError;
use serde_json::{Value, json};

use super::{CommonArgs, find_project, view};
use crate::context::Context;

/// Give a task or a subtask a status
///
/// A subtask moves its task along: to in-progress with the first, to done with the last. A task that is done closes its
/// open subtasks.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  git paw tasks set-status 42.1 done\n  git paw tasks set-status 42 review"
)]
pub(crate) struct SetStatusArgs {
    /// 42 is a task, 42.1 its first subtask
    pub(crate) id: String,
    /// pending, in-progress, done, review, blocked, deferred or cancelled
    pub(crate) status: String,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

pub(super) fn run(args: &SetStatusArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let (item, status): (ItemId, Status) = (args.id.parse()?, args.status.parse()?);
    let (project, tag) = find_project(&args.common, context)?;
    let changed = project.set_status(&tag, &item, &status)?;
    if changed.is_empty() {
        return context.output.say(&format!("{item} is {status} already"));
    }
    changed.iter().try_for_each(|(item, status)| {
        context.output.say(&format!("{item} {}", view::status(status, context)))
    })
}

/// The answer for programs.
pub(crate) fn answer(args: &SetStatusArgs, context: &Context) -> Result<Value, PawError> {
    let (item, status): (ItemId, Status) = (args.id.parse()?, args.status.parse()?);
    let (project, tag) = find_project(&args.common, context)?;
    let changed = project.set_status(&tag, &item, &status)?;
    let changed: Vec<Value> =
        changed.iter().map(|(item, status)| json!({"id": item, "status": status})).collect();
    Ok(json!({"tag": tag, "changed": changed}))
}
