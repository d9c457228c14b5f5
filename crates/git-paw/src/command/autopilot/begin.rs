//! The beginning of a run, and of one that goes on.

use paw_autopilot::executor::Executor;
use paw_autopilot::pane::PaneSession;
use paw_autopilot::work::{self, Plan, Site, Wishes, Work};
use paw_core::PawError;
use paw_core::text::plural;

use super::{AutopilotArgs, pane};
use crate::approval::autopilot as approved;
use crate::context::Context;
use crate::prompt::subtasks::agree_and_write;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};

pub(super) fn begin(
    args: &AutopilotArgs,
    site: Site,
    context: &Context,
) -> Result<(Work, Executor), PawError> {
    let executor = approved::executor(args.executor.as_deref(), &site, args.consent(), context)?;
    let wishes = Wishes { executor: Some(executor.name.clone()), ..args.wishes(&site) };
    let mut plan = work::plan(&site, &wishes, &[executor.program()])?;
    if plan.problems().is_empty() && plan.needs_subtasks {
        divide(args, &site, &plan, &executor, context)?;
        plan = work::plan(&site, &wishes, &[executor.program()])?;
    }
    if !args.no_confirm {
        ask_to_begin(&plan)?;
    }
    let approves = approved::approves(&site, args.consent(), context);
    let work = Work::begin(site, &plan, wishes, &approves)?;
    if let Some(wished) = &plan.instead_of {
        context
            .output
            .warn(&format!("git cannot hold a branch '{wished}' beside the others; it is '{}'", plan.branch));
    }
    Ok((work, executor))
}

/// A task without subtasks is divided first; what it becomes is shown before it is written.
fn divide(
    args: &AutopilotArgs,
    site: &Site,
    plan: &Plan,
    executor: &Executor,
    context: &Context,
) -> Result<(), PawError> {
    let line = format!("→ Divides task {}: it has no subtasks yet", plan.task_id);
    if context.output.wants_json() {
        context.output.note(&line);
    } else {
        context.output.say(&line)?;
    }
    let proposed = paw_autopilot::expand::propose(site, executor, &plan.tag, &plan.task_id, &mut |_| ())?;
    agree_and_write(site, &plan.tag, &plan.task_id, &proposed, !args.no_confirm, context)?;
    Ok(())
}

fn ask_to_begin(plan: &Plan) -> Result<(), PawError> {
    if !plan.problems().is_empty() {
        // Said by whoever begins.
        return Ok(());
    }
    let what = plural(plan.subtasks.len(), "subtask");
    let text = format!("Create branch {} and do {what} of task {}?", plan.branch, plan.task_id);
    if TerminalPrompter.confirm(&Question { text: &text, instead: "--no-confirm" }, true)? {
        Ok(())
    } else {
        Err(PawError::UserCancelled)
    }
}

/// Where the executor works: where it was said, else where it worked before, as far as that is still there.
pub(super) fn find_place(
    place: Option<PaneSession>,
    work: &Work,
    context: &Context,
) -> Result<Option<PaneSession>, PawError> {
    if place.is_some() || !work.notes.wishes.pane {
        return Ok(place);
    }
    let found = pane::find(context)?;
    if found.is_none() {
        context.output.note("no session is running any more: the executor works without a pane");
    }
    Ok(found)
}

pub(super) fn resume(
    args: &AutopilotArgs,
    site: &Site,
    context: &Context,
) -> Result<(Work, Executor), PawError> {
    let approves = approved::approves(site, args.consent(), context);
    let stored = Work::stored_wishes(site)?;
    let name = args.executor.as_deref().or(stored.executor.as_deref());
    let executor = approved::executor(name, site, args.consent(), context)?;
    let mut work = Work::resume(site.clone(), &approves)?;
    if let Some(budget) = args.budget {
        work.run.order.budget = budget;
    }
    if let Some(attempts) = args.max_attempts {
        work.run.order.max_attempts = attempts;
    }
    work.relax(&args.force);
    if args.no_push {
        work.run.order.push = false;
    }
    if args.no_push || args.no_pr {
        work.run.order.pull_request = false;
    }
    work.skip_what_is_not_wanted()?;
    Ok((work, executor))
}
