//! `git paw autopilot finalize`

use clap::Args;
use paw_core::PawError;
use serde_json::{Value, json};

use super::{CommonArgs, run_at, view};
use crate::approval::Consent;
use crate::approval::autopilot::final_commands;
use crate::context::Context;

/// Finish a run: the whole suite once more, coverage, and the text of a pull request
///
/// Runs what [autopilot] configures for the end: format_command, lint_command, coverage_command. Nothing is pushed; the
/// commands that do it are said. The report, with pr.md in it, stays in .taskmaster/reports/runs/.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot finalize\n  git paw autopilot finalize --json")]
pub(crate) struct FinalizeArgs {
    /// Approve the repository's own commands for the end of a run, without being asked
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

impl FinalizeArgs {
    pub(super) fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }
}

pub(crate) fn finalize(consent: Consent, context: &Context) -> Result<Value, PawError> {
    let mut work = run_at::load(context)?;
    let commands = final_commands(&work.site.repo, consent, context)?;
    let last = work.finalize(&commands)?;
    let message = match &last.failed {
        None => format!("task {} is done; its report is {}", work.run.order.task, work.report_path()),
        Some(why) => format!("not finished: {why}"),
    };
    let mut answer = view::answer(&work, &message)?;
    let mut more = json!({
        "accepted": last.failed.is_none(),
        "testResults": view::counted(&last.tests),
        "coverage": last.coverage,
        "formatted": last.formatted,
        "uncommitted": last.uncommitted,
        "pullRequestBody": work.pull_request_path(),
    });
    if last.failed.is_none() {
        more["commands"] = json!(work.manual_commands(true));
    }
    view::add(&mut answer, more);
    Ok(answer)
}
