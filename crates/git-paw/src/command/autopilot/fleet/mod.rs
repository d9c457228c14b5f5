//! `git paw autopilot 42 43 44`: several tasks, each in its own worktree and done by a process of its own, so that one that
//! stands still or dies takes nobody with it.
//!
//! - `place`: the worktree of a task, begun where what it depends on has ended
//! - `child`: the process that does it; `flags`: what it is told; `ending`: what became of it
//! - `crew`: who is at work, and Ctrl+C
//! - `radar`: who changes what another one changes
//! - `show`: the plan and the summary

mod child;
mod crew;
mod ending;
mod flags;
mod place;
mod radar;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use paw_autopilot::fleet::{self, FleetPlan};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::Site;
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_core::text::plural;

use super::{AutopilotArgs, gather, require_somebody};
use crate::context::Context;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};
use crew::{Crew, Finished};
use ending::State;
use place::Places;
use radar::Radar;

pub(super) fn run(args: &AutopilotArgs, site: &Site, context: &Context) -> Result<ExitCode, PawError> {
    if args.preview {
        return Err(PawError::ConfigError(
            "--preview asks about each commit, and several tasks would ask at once\nhint: name one task, or leave it out"
                .into(),
        ));
    }
    let plan = fleet::plan(site, args.tag.as_deref(), &args.tasks)?;
    if plan.differs {
        context.output.warn(&format!(
            "the list of tasks here is not the one on {0}; the worktrees begin at {0} and go by that",
            plan.base
        ));
    }
    if args.dry_run {
        show::plan(args, &plan, &place::directories(site, &plan)?, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    require_somebody(args, context)?;
    if args.pane {
        super::pane::require(context)?;
    }
    if !args.no_confirm {
        ask(args, &plan)?;
    }
    approve(args, site, context)?;
    let places = Places::open(args.consent(), site, context)?;
    let radar = Radar::start(&plan, site, context)?;
    let crew = Crew { args, plan: &plan, places, radar: &radar, output: context.output };
    let finished = crew.work()?;
    let worktrees: Vec<(TaskId, PathBuf)> = finished.iter().filter_map(worktree).collect();
    let collisions = radar.finish(&worktrees);
    show::summary(args, &plan, &finished, &collisions, context)?;
    let all_done = finished.iter().all(|finished| finished.ending.state == State::Done);
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

fn worktree(finished: &Finished<'_>) -> Option<(TaskId, PathBuf)> {
    Some((finished.task.member.task.clone(), finished.worktree.clone()?))
}

/// One question for all of them: whoever works aside cannot ask.
fn ask(args: &AutopilotArgs, plan: &FleetPlan) -> Result<(), PawError> {
    let open = plan.tasks.iter().filter(|task| !task.standing.is_done()).count();
    let then = match (args.no_push, args.no_pr) {
        (true, _) => "",
        (false, true) => ", and push the branches",
        (false, false) => ", push the branches and open pull requests",
    };
    let tasks = plural(open, "task");
    let text = format!("Do {tasks} in worktrees of their own, from {}{then}?", plan.base);
    if TerminalPrompter.confirm(&Question { text: &text, instead: "--no-confirm" }, true)? {
        Ok(())
    } else {
        Err(PawError::UserCancelled)
    }
}

/// What the project's own files want to run is approved now, while somebody can be asked.
fn approve(args: &AutopilotArgs, site: &Site, context: &Context) -> Result<(), PawError> {
    gather::executor(args.executor.as_deref(), site, args.consent(), context)?;
    let approves = gather::approves(site, args.consent(), context);
    match site.detect(args.runner.as_deref()) {
        Ok((_, Some(subject))) => approves(&subject).map(drop),
        // Each worktree looks for itself, and says what it finds.
        Ok((_, None)) | Err(_) => Ok(()),
    }
}
