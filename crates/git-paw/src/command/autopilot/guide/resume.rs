//! `git paw autopilot resume`

use clap::Args;
use paw_autopilot::work::ActiveRun;
use paw_core::PawError;
use serde_json::Value;

use super::{JsonArgs, answer, current_run};
use crate::approval::Consent;
use crate::context::Context;

/// Resume a paused or interrupted run
///
/// Branch, last commit and task must be unchanged. The attempts start again. Files written meanwhile are tested first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot resume")]
pub(crate) struct ResumeArgs {
    /// Approve the project's own test command without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

impl ResumeArgs {
    pub(super) fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }
}

pub(crate) fn resume(consent: Consent, context: &Context) -> Result<Value, PawError> {
    let work = current_run::lock(consent, context, ActiveRun::resume)?;
    answer::answer(&work, &format!("resumed task {}: {}", work.run.request.task, work.run.request.title))
}
