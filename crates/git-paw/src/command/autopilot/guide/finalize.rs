//! `git paw autopilot finalize`

use clap::Args;
use paw_core::PawError;
use serde_json::{Value, json};

use super::{JsonArgs, answer, current_run};
use crate::approval::Consent;
use crate::approval::autopilot::final_commands;
use crate::context::Context;

/// Finish a run: run the full test suite and write the pull request text
///
/// Also runs the commands that [autopilot] sets for the end of a run: format_command, lint_command, coverage_command.
/// Nothing is pushed; git paw prints the commands for it. The report with pr.md is in .taskmaster/reports/runs/.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot finalize\n  git paw autopilot finalize --json")]
pub(crate) struct FinalizeArgs {
    /// Approve the repository's own commands without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

impl FinalizeArgs {
    pub(super) fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }
}

pub(crate) fn finalize(consent: Consent, context: &Context) -> Result<Value, PawError> {
    let mut work = current_run::load(context)?;
    let commands = final_commands(&work.context.repo, consent, context)?;
    let last = work.finalize(&commands)?;
    let message = match &last.failed {
        None => format!("task {} is done; its report is {}", work.run.request.task, work.report_path()),
        Some(why) => format!("not finished: {why}"),
    };
    let mut answer = answer::answer(&work, &message)?;
    let mut more = json!({
        "accepted": last.failed.is_none(),
        "testResults": answer::counted(&last.tests),
        "coverage": last.coverage,
        "unmeasured": last.unmeasured,
        "formatted": last.formatted,
        "uncommitted": last.uncommitted,
        "pullRequestBody": work.pull_request_path(),
    });
    if last.failed.is_none() {
        more["commands"] = json!(work.manual_commands(true));
    }
    answer::add(&mut answer, more);
    Ok(answer)
}
