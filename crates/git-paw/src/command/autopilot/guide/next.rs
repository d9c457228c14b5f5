//! `git paw autopilot next`

use clap::Args;
use paw_core::PawError;
use serde_json::Value;

use super::{CommonArgs, run_at, view};
use crate::context::Context;

/// Say what to do next: phase, subtask, action and context
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot next\n  git paw autopilot next --json")]
pub(crate) struct NextArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

pub(crate) fn next(context: &Context) -> Result<Value, PawError> {
    let work = run_at::load(context)?;
    let (task, title) = (&work.run.order.task, &work.run.order.title);
    view::answer(&work, &format!("task {task}: {title}"))
}
