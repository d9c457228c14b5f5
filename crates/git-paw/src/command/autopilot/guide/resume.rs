//! `git paw autopilot resume`

use clap::Args;
use paw_autopilot::work::Work;
use paw_core::PawError;
use serde_json::Value;

use super::{CommonArgs, run_at, view};
use crate::approval::Consent;
use crate::context::Context;

/// Go on with a run that was paused or interrupted
///
/// Branch, last commit and task have to be what they were. Attempts count afresh, and the tests come first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot resume")]
pub(crate) struct ResumeArgs {
    /// Approve the project's own test command, without being asked
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

impl ResumeArgs {
    pub(super) fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }
}

pub(crate) fn resume(consent: Consent, context: &Context) -> Result<Value, PawError> {
    let work = run_at::held(consent, context, Work::resume)?;
    view::answer(&work, &format!("went on with task {}: {}", work.run.order.task, work.run.order.title))
}
