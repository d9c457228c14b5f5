//! Starts or resumes a run.

use paw_autopilot::executor::Executor;
use paw_autopilot::pane::PaneSession;
use paw_autopilot::work::{self, ActiveRun, ProjectContext, Relaxation, RunOptions, RunPlan};
use paw_core::PawError;
use paw_core::text::plural;

use super::{AutopilotArgs, pane};
use crate::approval::autopilot as approved;
use crate::context::Context;
use crate::prompt::subtasks::confirm_and_write;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};

pub(super) fn start(
    args: &AutopilotArgs,
    site: ProjectContext,
    context: &Context,
) -> Result<(ActiveRun, Executor), PawError> {
    let executor = approved::executor(args.executor.as_deref(), &site, args.consent(), context)?;
    let options = RunOptions { executor: Some(executor.name.clone()), ..args.options(&site) };
    let commands = approved::approved_final_commands(&site.repo, context)?;
    let mut plan = work::plan(&site, &options, &[executor.program()], &commands)?;
    if plan.problems().is_empty() && plan.needs_subtasks {
        expand(args, &site, &plan, &executor, context)?;
        plan = work::plan(&site, &options, &[executor.program()], &commands)?;
    }
    if !args.no_confirm {
        confirm_start(&plan)?;
    }
    let approves = approved::approves(&site, args.consent(), context);
    let work = ActiveRun::begin(site, &plan, options, &approves)?;
    if let Some(preferred) = &plan.instead_of {
        context.output.warn(&format!(
            "cannot create branch '{preferred}' next to the existing ones; using '{}'",
            plan.branch
        ));
    }
    Ok((work, executor))
}

/// Asks the executor for the subtasks of a task without any, and shows them before they are written.
fn expand(
    args: &AutopilotArgs,
    site: &ProjectContext,
    plan: &RunPlan,
    executor: &Executor,
    context: &Context,
) -> Result<(), PawError> {
    let line = format!("→ Expands task {}: it has no subtasks yet", plan.task_id);
    if context.output.wants_json() {
        context.output.note(&line);
    } else {
        context.output.say(&line)?;
    }
    let proposed = paw_autopilot::expand::propose(site, executor, &plan.tag, &plan.task_id, &mut |_| ())?;
    confirm_and_write(site, &plan.tag, &plan.task_id, &proposed, !args.no_confirm, context)?;
    Ok(())
}

fn confirm_start(plan: &RunPlan) -> Result<(), PawError> {
    if !plan.problems().is_empty() {
        // The start itself reports the problems.
        return Ok(());
    }
    let what = plural(plan.subtasks.len(), "subtask");
    let text = format!("Create branch {} and run {what} of task {}?", plan.branch, plan.task_id);
    if TerminalPrompter.confirm(&PromptQuestion { text: &text, instead: "--no-confirm" }, true)? {
        Ok(())
    } else {
        Err(PawError::UserCancelled)
    }
}

/// The session for the executor's window: the given one, else the running session if the run used a window before.
pub(super) fn find_pane(
    place: Option<PaneSession>,
    work: &ActiveRun,
    context: &Context,
) -> Result<Option<PaneSession>, PawError> {
    if place.is_some() || !work.notes.options.pane {
        return Ok(place);
    }
    let found = pane::find(context)?;
    if found.is_none() {
        context.output.note("the session is no longer running: the executor works without a pane");
    }
    Ok(found)
}

/// Only the user can allow what is protected from executors.
pub(super) fn require_user(force: &[Relaxation], context: &Context) -> Result<(), PawError> {
    if force.contains(&Relaxation::Protected) {
        context.approver()?;
    }
    Ok(())
}

pub(super) fn resume(
    args: &AutopilotArgs,
    site: &ProjectContext,
    context: &Context,
) -> Result<(ActiveRun, Executor), PawError> {
    let approves = approved::approves(site, args.consent(), context);
    let stored = ActiveRun::load_options(site)?;
    let name = args.executor.as_deref().or(stored.executor.as_deref());
    let executor = approved::executor(name, site, args.consent(), context)?;
    require_user(&args.force, context)?;
    let mut work = ActiveRun::resume(site.clone(), &approves, &args.force)?;
    if let Some(budget) = args.budget {
        work.run.request.budget = budget;
    }
    if let Some(attempts) = args.max_attempts {
        work.run.request.max_attempts = attempts;
    }
    if args.no_push {
        work.run.request.push = false;
    }
    if args.no_push || args.no_pr {
        work.run.request.pull_request = false;
    }
    work.skip_unwanted_publishing()?;
    Ok((work, executor))
}
