//! `git paw autopilot resume`

use clap::Args;
use paw_autopilot::work::{ActiveRun, Relaxation};
use paw_core::PawError;
use serde_json::Value;

use super::super::start::require_user;
use super::{JsonArgs, answer, current_run};
use crate::approval::Consent;
use crate::context::Context;

/// Resume a paused or interrupted run
///
/// Branch, last commit and task must be unchanged. The attempts start again. Files written meanwhile are tested first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot resume\n  git paw autopilot resume --force=protected")]
pub(crate) struct ResumeArgs {
    /// Approve the project's own test command without asking
    #[arg(long)]
    trust: bool,
    /// Allow: coverage, protected (what the pause named)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', require_equals = true)]
    pub(super) force: Vec<Relaxation>,
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

impl ResumeArgs {
    pub(super) fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }
}

pub(crate) fn resume(force: &[Relaxation], consent: Consent, context: &Context) -> Result<Value, PawError> {
    require_user(force, context)?;
    let work =
        current_run::lock(consent, context, |site, approves| ActiveRun::resume(site, approves, force))?;
    answer::answer(&work, &format!("resumed task {}: {}", work.run.request.task, work.run.request.title))
}
