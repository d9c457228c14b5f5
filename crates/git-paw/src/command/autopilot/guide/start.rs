//! `git paw autopilot start`

use clap::Args;
use paw_autopilot::work::{ActiveRun, Relaxation, RunOptions, plan};
use paw_core::PawError;
use paw_host::trust::TrustSubject;
use serde_json::{Value, json};

use super::{JsonArgs, answer, current_run};
use crate::approval::Consent;
use crate::approval::autopilot::approved_final_commands;
use crate::context::Context;
use crate::output::to_json;

/// Start a task that you or your agent will do test-first
///
/// Runs the existing tests, creates the task's branch and prints the first work unit. From then on, `git paw autopilot next`
/// shows the next work unit, `complete` proves it, and `commit` commits it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw autopilot start 42
  git paw autopilot start 42 --max-attempts 5 --json
  git paw autopilot start 42 --force=run       (abandons an unfinished run)")]
pub(crate) struct StartArgs {
    /// The task [default: the next one]
    task: Option<String>,
    /// The tag (list of tasks)
    #[arg(long)]
    tag: Option<String>,
    /// Attempts per phase before the run pauses
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// Test runner [default: detected from the project]
    #[arg(long)]
    runner: Option<String>,
    /// Scope of the commit messages
    #[arg(long, value_name = "SCOPE")]
    commit_scope: Option<String>,
    /// Ignore: dirty (uncommitted changes), run (abandon an unfinished run), coverage. Without a value: dirty,run
    #[arg(long, value_name = "WHAT", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "dirty,run")]
    force: Vec<Relaxation>,
    /// Approve the project's own test command without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

/// The options of a start.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartOptions {
    pub(crate) task: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) runner: Option<String>,
    pub(crate) commit_scope: Option<String>,
    pub(crate) relax: Vec<Relaxation>,
}

impl StartArgs {
    pub(super) fn wanted(&self) -> StartOptions {
        StartOptions {
            task: self.task.clone(),
            tag: self.tag.clone(),
            max_attempts: self.max_attempts,
            runner: self.runner.clone(),
            commit_scope: self.commit_scope.clone(),
            relax: self.force.clone(),
        }
    }

    pub(super) fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }
}

pub(crate) fn start(wanted: &StartOptions, consent: Consent, context: &Context) -> Result<Value, PawError> {
    let site = current_run::site(context)?;
    let options = RunOptions {
        task: wanted.task.clone(),
        tag: wanted.tag.clone(),
        runner: wanted.runner.clone(),
        commit_scope: wanted.commit_scope.clone(),
        max_attempts: wanted.max_attempts,
        relax: wanted.relax.clone(),
        ..RunOptions::default()
    };
    let plan = plan(&site, &options, &[], &approved_final_commands(&site.repo, context)?)?;
    let approves = |subject: &TrustSubject| current_run::approves(subject, consent, context);
    let work = ActiveRun::begin(site, &plan, options, &approves)?;
    let branch = work.run.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    let mut answer =
        answer::answer(&work, &format!("started task {}: {}{branch}", plan.task_id, plan.title))?;
    answer["subtasks"] = json!(
        work.run.steps.iter().map(|step| json!({"id": step.id, "title": step.title})).collect::<Vec<_>>()
    );
    answer["coverage"] = to_json(&plan.coverage)?;
    if let Some(instead) = &plan.instead_of {
        answer["note"] = json!(format!("cannot create branch '{instead}' next to the existing ones"));
    }
    Ok(answer)
}
