//! `git paw autopilot 42 43 44`: several tasks, each with its own worktree and process.

mod flags;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use paw_autopilot::fleet::conflicts::FleetConflicts;
use paw_autopilot::fleet::outcome::TaskState;
use paw_autopilot::fleet::run::{FinishedTask, Fleet, FleetNotice, FleetNotify};
use paw_autopilot::fleet::worktrees::{FleetWorktrees, planned_directories};
use paw_autopilot::fleet::{self, FleetPlan};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::{ProjectContext, Relaxation};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_core::text::{self, plural};
use paw_host::config;
use paw_worktree::Worktrees;

use super::format::line;
use super::{AutopilotArgs, pane, require_confirmation};
use crate::approval::{self, autopilot as approved};
use crate::context::Context;
use crate::output::Output;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};

pub(super) fn run(
    args: &AutopilotArgs,
    site: &ProjectContext,
    context: &Context,
) -> Result<ExitCode, PawError> {
    if args.preview {
        return Err(PawError::ConfigError("--preview cannot be used with several tasks".into())
            .hint("run one task, or omit --preview"));
    }
    let plan = fleet::plan(site, args.tag.as_deref(), &args.tasks)?;
    if plan.differs {
        context.output.warn(&format!(
            "tasks.json here differs from the one on {0}; the worktrees start from {0} and use that one",
            plan.base
        ));
    }
    let layers = config::load_layers(Some(&site.repo.root), None)?;
    let config = layers.resolve()?;
    let placement = config.worktree_placement();
    if args.dry_run {
        show::plan(args, &plan, &planned_directories(site, &plan, placement), context)?;
        return Ok(ExitCode::SUCCESS);
    }
    require_confirmation(args, context)?;
    if args.pane {
        pane::require(context)?;
    }
    if !args.no_confirm {
        ask(args, &plan)?;
    }
    approve(args, site, context)?;
    let preparation = approval::preparation(&layers, &config, &site.repo, args.consent(), context)?;
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let notify = notify(context.output);
    let radar = FleetConflicts::start(&plan, site, context.find_session()?.as_ref(), notify.clone())?;
    let fleet = Fleet {
        plan: &plan,
        worktrees: FleetWorktrees::new(site, placement, preparation, worktrees),
        conflicts: &radar,
        notify,
        parallel: args.parallel,
        executor: args.executor.as_deref(),
        gives_up: args.force.contains(&Relaxation::Run),
        arguments: &|begin| flags::flags(args, begin),
    };
    let finished = fleet.work()?;
    let worktrees: Vec<(TaskId, PathBuf)> = finished.iter().filter_map(worktree).collect();
    let collisions = radar.finish(&worktrees);
    show::summary(args, &plan, &finished, &collisions, context)?;
    let all_done = finished.iter().all(|finished| finished.outcome.state == TaskState::Done);
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

/// Prints notices without control characters.
fn notify(output: Output) -> FleetNotify {
    Arc::new(move |notice| match notice {
        FleetNotice::Task { task, line } => output.note(&format!("[{task}] {}", text::reveal(line))),
        FleetNotice::Note(text) => output.note(&line(text)),
        FleetNotice::Warning(text) => output.warn(&line(text)),
    })
}

fn worktree(finished: &FinishedTask<'_>) -> Option<(TaskId, PathBuf)> {
    Some((finished.task.member.task.clone(), finished.worktree.clone()?))
}

/// One question for all tasks: their processes cannot ask.
fn ask(args: &AutopilotArgs, plan: &FleetPlan) -> Result<(), PawError> {
    let open = plan.tasks.iter().filter(|task| !task.progress.is_done()).count();
    let then = match (args.no_push, args.no_pr) {
        (true, _) => "",
        (false, true) => ", and push the branches",
        (false, false) => ", push the branches and open pull requests",
    };
    let tasks = plural(open, "task");
    let text = format!("Run {tasks} in separate worktrees, starting from {}{then}?", plan.base);
    if TerminalPrompter.confirm(&PromptQuestion { text: &text, instead: "--no-confirm" }, true)? {
        Ok(())
    } else {
        Err(PawError::UserCancelled)
    }
}

/// Approves the project's own commands now: the processes of the tasks cannot ask.
fn approve(args: &AutopilotArgs, site: &ProjectContext, context: &Context) -> Result<(), PawError> {
    approved::executor(args.executor.as_deref(), site, args.consent(), context)?;
    let approves = approved::approves(site, args.consent(), context);
    match site.detect(args.runner.as_deref()) {
        Ok((_, Some(subject))) => approves(&subject).map(drop),
        // Each worktree detects its own runner and reports problems.
        Ok((_, None)) | Err(_) => Ok(()),
    }
}
