//! `git paw autopilot 42 43 44`: several tasks, each in its own worktree and done by a process of its own.

mod flags;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use paw_autopilot::fleet::ending::TaskState;
use paw_autopilot::fleet::place::{Places, directories};
use paw_autopilot::fleet::radar::Radar;
use paw_autopilot::fleet::run::{Finished, Fleet, FleetNotice, FleetNotify};
use paw_autopilot::fleet::{self, FleetPlan};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::{Relaxation, Site};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_core::text::{self, plural};
use paw_host::config;
use paw_worktree::Worktrees;

use super::words::line;
use super::{AutopilotArgs, pane, require_somebody};
use crate::approval::{self, autopilot as approved};
use crate::context::Context;
use crate::output::Output;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};

pub(super) fn run(args: &AutopilotArgs, site: &Site, context: &Context) -> Result<ExitCode, PawError> {
    if args.preview {
        return Err(PawError::ConfigError(
            "--preview asks about each commit, and several tasks would ask at once".into(),
        )
        .hint("name one task, or omit --preview"));
    }
    let plan = fleet::plan(site, args.tag.as_deref(), &args.tasks)?;
    if plan.differs {
        context.output.warn(&format!(
            "the list of tasks here is not the one on {0}; the worktrees begin at {0} and go by that",
            plan.base
        ));
    }
    let layers = config::load_layers(Some(&site.repo.root), None)?;
    let config = layers.resolve()?;
    let placement = config.worktree_placement();
    if args.dry_run {
        show::plan(args, &plan, &directories(site, &plan, placement), context)?;
        return Ok(ExitCode::SUCCESS);
    }
    require_somebody(args, context)?;
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
    let radar = Radar::start(&plan, site, context.find_session()?.as_ref(), notify.clone())?;
    let fleet = Fleet {
        plan: &plan,
        places: Places::new(site, placement, preparation, worktrees),
        radar: &radar,
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
    let all_done = finished.iter().all(|finished| finished.ending.state == TaskState::Done);
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

/// Notices as lines that cannot steer a terminal.
fn notify(output: Output) -> FleetNotify {
    Arc::new(move |notice| match notice {
        FleetNotice::Task { task, line } => output.note(&format!("[{task}] {}", text::reveal(line))),
        FleetNotice::Note(text) => output.note(&line(text)),
        FleetNotice::Warning(text) => output.warn(&line(text)),
    })
}

fn worktree(finished: &Finished<'_>) -> Option<(TaskId, PathBuf)> {
    Some((finished.task.member.task.clone(), finished.worktree.clone()?))
}

/// One question for all of them: the processes of the tasks cannot ask.
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

/// What the project's own files want to run is approved now: the processes of the tasks cannot ask.
fn approve(args: &AutopilotArgs, site: &Site, context: &Context) -> Result<(), PawError> {
    approved::executor(args.executor.as_deref(), site, args.consent(), context)?;
    let approves = approved::approves(site, args.consent(), context);
    match site.detect(args.runner.as_deref()) {
        Ok((_, Some(subject))) => approves(&subject).map(drop),
        // Each worktree looks for itself, and says what it finds.
        Ok((_, None)) | Err(_) => Ok(()),
    }
}
