//! `git paw autopilot`: a task done test-first, on its own, with proof.

mod base;
mod begin;
mod budget;
mod dry_run;
mod fleet;
pub(crate) mod guide;
mod pane;
mod paused;
mod show;
mod steer;
mod tui;
mod words;

use std::process::ExitCode;

use clap::Args;
use paw_autopilot::engine::{Budget, Stage};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::{Relaxation, Site, Wishes};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;

use crate::approval::Consent;
use crate::approval::autopilot::final_commands;
use crate::context::Context;
use crate::prompt::{Prompter as _, TerminalPrompter};
use guide::Verb;

pub(crate) use pane::{ExecutorPaneArgs, run as run_in_pane};
use show::Screen;

/// Do a task test-first, on its own: failing tests, code, proof, commit; then push and pull request
///
/// For each subtask an executor (an AI CLI, or a program of yours) writes failing tests, then the code that makes them pass.
/// The tests are run here, and only what they prove is committed, on a branch of its own. A run that cannot go on pauses
/// with its state, the reason and what to do; --resume goes on. Without a task the next one is done.
///
/// Several tasks are done each in a worktree of its own, kept afterwards, from the base branch; --parallel says how many at
/// once. One that depends on another begins when that is done, from its branch. One that fails does not stop the others,
/// only what depends on it. Each branch has its own tasks.json with its own statuses; they meet when the branches are
/// merged. The same command again goes on with what is not done. --budget is for each task.
///
/// With --pane the executor works in a window of the session that is running here, where you can watch it; closing it pauses
/// the run. Ctrl+C pauses a run as well.
///
/// With a verb, an agent asks for the work and does it: start, next, complete, commit, status, resume, finalize, abort.
/// tui shows tasks and runs side by side in tmux.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  git paw autopilot 42 --dry-run
  git paw autopilot 42 --executor claude
  git paw autopilot 42 --no-confirm --no-push --budget '30m,$5'
  git paw autopilot 42 43 44 --parallel 3 --no-confirm --update-base
  git paw autopilot 42 --pane
  git paw autopilot --resume"
)]
pub(crate) struct AutopilotArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Which tasks; the next one if you name none
    #[arg(value_name = "TASK", conflicts_with = "resume")]
    tasks: Vec<String>,
    /// How many of several tasks are done at once
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "resume", value_parser = at_once)]
    parallel: usize,
    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on with the run that was paused or interrupted
    #[arg(long)]
    resume: bool,
    /// Bring the base branch up to its remote first: fetch, and move it forward if nothing uncommitted is in the way
    #[arg(long, conflicts_with_all = ["resume", "dry_run"])]
    update_base: bool,
    /// Leave the branch where it is
    #[arg(long)]
    no_push: bool,
    /// Open no pull request
    #[arg(long)]
    no_pr: bool,
    /// Ask nothing: make the branch, push it and open the pull request
    #[arg(long)]
    no_confirm: bool,
    /// Let pass: dirty (changes that are not committed), run (an unfinished run is given up), coverage. Alone: dirty and run
    #[arg(long, value_name = "WHAT", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "dirty,run")]
    force: Vec<Relaxation>,
    /// How often an executor may try in each phase
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    max_attempts: Option<u32>,
    /// Test runner: auto, the name of one (pytest, vitest, cargo, …), or a command line of yours
    #[arg(long, value_name = "auto|RUNNER")]
    runner: Option<String>,
    /// Scope in the commit messages
    #[arg(long, value_name = "SCOPE")]
    commit_scope: Option<String>,
    /// Who writes tests and code: claude, codex, gemini, aider, opencode, or the name of one you have configured
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// Show what the executor says while it works
    #[arg(long)]
    executor_mode: bool,
    /// Let the executor work in a window of the running session
    #[arg(long)]
    pane: bool,
    /// Pause when more is spent: a time, a sum, or both (30m, $5, 2h,$3.50)
    #[arg(long, value_name = "LIMIT", value_parser = budget::parse)]
    budget: Option<Budget>,
    /// Show each diff before it is committed, and ask
    #[arg(long)]
    preview: bool,
    /// Which list of tasks
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Approve what this repository's files want to run
    #[arg(long)]
    trust: bool,
    /// Tasks whose work this branch has already, though nobody has reviewed it
    #[arg(long, hide = true, value_name = "TASK", value_delimiter = ',', value_parser = task_id)]
    built_on: Vec<TaskId>,
    /// Print one JSON document at the end; what is going on goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
}

fn at_once(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=64).contains(number));
    number.ok_or_else(|| "say a number from 1 to 64".to_owned())
}

fn task_id(text: &str) -> Result<TaskId, String> {
    TaskId::new(text).map_err(|error| error.to_string())
}

impl AutopilotArgs {
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.verb.as_ref().is_some_and(Verb::wants_json)
    }

    fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }

    fn wishes(&self, site: &Site) -> Wishes {
        Wishes {
            task: self.tasks.first().cloned(),
            tag: self.tag.clone(),
            runner: self.runner.clone(),
            commit_scope: self.commit_scope.clone(),
            executor: self.executor.clone(),
            max_attempts: self.max_attempts,
            budget: self.budget.unwrap_or_default(),
            push: !self.no_push,
            pull_request: !self.no_push && !self.no_pr && site.settings.pull_request.enabled,
            relax: self.force.clone(),
            pane: self.pane,
            built_on: self.built_on.clone(),
        }
    }
}

pub(crate) fn run(args: &AutopilotArgs, context: &Context) -> Result<ExitCode, PawError> {
    if let Some(verb) = &args.verb {
        return guide::run(verb, context);
    }
    let repo = context.require_repo()?;
    let site = Site::find(repo, &context.cwd, &context.search_path)?;
    for warning in &site.settings.warnings {
        context.output.warn(&format!("{}: {warning}", site.project.config_file().display()));
    }
    let site = if args.update_base { base::update(args, site, context)? } else { site };
    if args.tasks.len() > 1 {
        return fleet::run(args, &site, context);
    }
    if args.dry_run {
        return dry_run::run(args, &site, context);
    }
    require_somebody(args, context)?;
    let place = if args.pane { Some(pane::require(context)?) } else { None };
    let (mut work, executor) =
        if args.resume { begin::resume(args, &site, context)? } else { begin::begin(args, site, context)? };
    let commands = final_commands(&work.site.repo, args.consent(), context)?;
    let mut screen = Screen::new(args, context);
    screen.begun(&work)?;
    let place = begin::find_place(place, &work, context)?;
    steer::to_the_end(&mut work, &executor, &commands, place, &mut screen)?;
    screen.ended(&work)?;
    Ok(if matches!(work.run.stage, Stage::Done { .. }) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILURE)
    })
}

/// Questions come later, when something has been done already; so whether anybody can answer is settled now.
fn require_somebody(args: &AutopilotArgs, context: &Context) -> Result<(), PawError> {
    let can_ask = TerminalPrompter.is_interactive() && !context.output.wants_json();
    if args.no_confirm && !args.preview || can_ask {
        return Ok(());
    }
    let why = if context.output.wants_json() { "with --json nobody is asked" } else { "this is no terminal" };
    let hint = if args.preview {
        "--preview needs a terminal; leave it out"
    } else {
        "--no-confirm makes the branch, pushes it and opens the pull request without asking; --no-push stops before that"
    };
    Err(PawError::ConfigError(format!(
        "autopilot asks before it makes a branch, pushes it or opens a pull request, and {why}; nothing was done"
    ))
    .hint(hint))
}
