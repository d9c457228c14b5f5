//! `git paw autopilot start`

use clap::Args;
use paw_autopilot::work::{Relaxation, Wishes, Work, plan};
use paw_core::PawError;
use paw_host::trust::TrustSubject;
use serde_json::{Value, json};

use super::{JsonArgs, answer, current_run};
use crate::approval::Consent;
use crate::context::Context;

/// Begin a task that you, or an agent of yours, will do test-first
///
/// Runs the tests as they are, makes the task's branch and says what to do first. From then on `git paw autopilot next` says
/// what to do, `complete` proves it, and `commit` commits what was proven.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw autopilot start 42
  git paw autopilot start 42 --max-attempts 5 --json
  git paw autopilot start 42 --force=run       (gives up a run that is not finished)")]
pub(crate) struct StartArgs {
    /// The task; without it, whatever is next
    task: Option<String>,
    /// Which list of tasks
    #[arg(long)]
    tag: Option<String>,
    /// After this many attempts at a phase the run pauses
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// How the tests are run; without it, by looking at the project
    #[arg(long)]
    runner: Option<String>,
    /// The scope in commit messages
    #[arg(long, value_name = "SCOPE")]
    commit_scope: Option<String>,
    /// Let pass: dirty (changes that are not committed), run (an unfinished run is given up), coverage. Alone: dirty and run
    #[arg(long, value_name = "WHAT", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "dirty,run")]
    force: Vec<Relaxation>,
    /// Approve the project's own test command, without being asked
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

/// What is begun.
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
    let wishes = Wishes {
        task: wanted.task.clone(),
        tag: wanted.tag.clone(),
        runner: wanted.runner.clone(),
        commit_scope: wanted.commit_scope.clone(),
        max_attempts: wanted.max_attempts,
        relax: wanted.relax.clone(),
        ..Wishes::default()
    };
    let plan = plan(&site, &wishes, &[])?;
    let approves = |subject: &TrustSubject| current_run::approves(subject, consent, context);
    let work = Work::begin(site, &plan, wishes, &approves)?;
    let branch = work.run.branch.as_ref().map(|branch| format!(" on {branch}")).unwrap_or_default();
    let mut answer = answer::answer(&work, &format!("began task {}: {}{branch}", plan.task_id, plan.title))?;
    answer["subtasks"] = json!(
        work.run.steps.iter().map(|step| json!({"id": step.id, "title": step.title})).collect::<Vec<_>>()
    );
    if let Some(instead) = &plan.instead_of {
        answer["note"] = json!(format!("git cannot hold a branch '{instead}' beside the others"));
    }
    Ok(answer)
}
