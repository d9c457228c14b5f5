//! `git paw autopilot next`

use clap::Args;
use paw_core::PawError;
use serde_json::Value;

use super::{JsonArgs, answer, current_run};
use crate::context::Context;

/// Show the next work unit: phase, subtask, action and context
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot next\n  git paw autopilot next --json")]
pub(crate) struct NextArgs {
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

pub(crate) fn next(context: &Context) -> Result<Value, PawError> {
    let work = current_run::load(context)?;
    let (task, title) = (&work.run.request.task, &work.run.request.title);
    answer::answer(&work, &format!("task {task}: {title}"))
}
