//! `git paw autopilot`: does a task test-first, and commits only what the tests prove.

mod budget;
mod drive;
mod dry_run;
mod fleet;
mod format;
pub(crate) mod guide;
mod pane;
mod paused;
mod progress;
mod start;
mod tui;
mod update_base;

use std::process::ExitCode;

use clap::Args;
use paw_autopilot::engine::{Budget, RunStage};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::{ProjectContext, Relaxation, RunOptions};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;

use crate::approval::Consent;
use crate::approval::autopilot::final_commands;
use crate::context::Context;
use crate::prompt::{Prompter as _, TerminalPrompter};
use guide::GuideVerb;

pub(crate) use pane::{ExecutorPaneArgs, run as run_in_pane};
use progress::ProgressPrinter;

/// Run tasks test-first: failing tests, code, commit, pull request
///
/// For each subtask an executor (an AI CLI or your own program) writes failing tests, then the code that makes them pass.
/// git paw runs the tests and commits only what they prove, on a separate branch. A run that cannot continue pauses and
/// prints its state, the reason and the next steps; --resume continues it. Without a task, autopilot takes the next one.
///
/// With several tasks, each runs in its own worktree, which is kept afterwards, starting from the base branch; --parallel
/// sets how many run at once. A task that depends on another starts from that task's branch when it is done. A failed task
/// stops only the tasks that depend on it. Each branch has its own tasks.json with its own statuses; merging the branches
/// merges them. Run the same command again to continue with unfinished tasks. --budget applies to each task.
///
/// With --pane the executor works in a window of the running session, where you can watch it; closing the window pauses the
/// run. Ctrl+C pauses a run, too.
///
/// The verbs are for an agent that does the work itself: start, next, complete, commit, status, resume, finalize, abort. tui
/// shows tasks and runs side by side in tmux.
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
    verb: Option<GuideVerb>,
    /// The tasks to do [default: the next one]
    #[arg(value_name = "TASK", conflicts_with = "resume")]
    tasks: Vec<String>,
    /// How many tasks run at once
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "resume", value_parser = parallel_tasks)]
    parallel: usize,
    /// Print the plan without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Continue a paused or interrupted run
    #[arg(long)]
    resume: bool,
    /// Fetch first and fast-forward the base branch
    #[arg(long, conflicts_with_all = ["resume", "dry_run"])]
    update_base: bool,
    /// Do not push the branch
    #[arg(long)]
    no_push: bool,
    /// Do not open a pull request
    #[arg(long)]
    no_pr: bool,
    /// Create the branch, push it and open the pull request without asking
    #[arg(long)]
    no_confirm: bool,
    /// Ignore: dirty (uncommitted changes), run (abandon an unfinished run), coverage; with --resume also protected
    /// (what a pause named). Without a value: dirty,run
    #[arg(long, value_name = "WHAT", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "dirty,run")]
    force: Vec<Relaxation>,
    /// Attempts per phase before the run pauses
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    max_attempts: Option<u32>,
    /// Test runner: auto, a known runner (pytest, vitest, cargo, …), or your own command
    #[arg(long, value_name = "auto|RUNNER")]
    runner: Option<String>,
    /// Scope of the commit messages
    #[arg(long, value_name = "SCOPE")]
    commit_scope: Option<String>,
    /// Executor: claude, codex, gemini, aider, opencode, or one from the configuration
    #[arg(long, value_name = "CLI")]
    executor: Option<String>,
    /// Show the executor's output while it works
    #[arg(long)]
    executor_mode: bool,
    /// Run the executor in a window of the running session
    #[arg(long)]
    pane: bool,
    /// Pause when this time or cost is reached, such as 30m, $5 or 2h,$3.50
    #[arg(long, value_name = "LIMIT", value_parser = budget::parse)]
    budget: Option<Budget>,
    /// Show each diff and ask before committing
    #[arg(long)]
    preview: bool,
    /// The tag (list of tasks)
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Approve this repository's own commands without asking
    #[arg(long)]
    trust: bool,
    /// Tasks whose unreviewed work is already on this branch
    #[arg(long, hide = true, value_name = "TASK", value_delimiter = ',', value_parser = task_id)]
    built_on: Vec<TaskId>,
    /// Print one JSON document at the end; progress goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
}

fn parallel_tasks(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=64).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 64".to_owned())
}

fn task_id(text: &str) -> Result<TaskId, String> {
    TaskId::new(text).map_err(|error| error.to_string())
}

impl AutopilotArgs {
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.verb.as_ref().is_some_and(GuideVerb::wants_json)
    }

    fn consent(&self) -> Consent {
        Consent::of_flag(self.trust)
    }

    fn options(&self, site: &ProjectContext) -> RunOptions {
        RunOptions {
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
    let site = ProjectContext::find(repo, &context.cwd, &context.search_path)?;
    for warning in &site.settings.warnings {
        context.output.warn(&format!("{}: {warning}", site.project.config_file().display()));
    }
    let site = if args.update_base { update_base::update(args, site, context)? } else { site };
    if args.tasks.len() > 1 {
        return fleet::run(args, &site, context);
    }
    if args.dry_run {
        return dry_run::run(args, &site, context);
    }
    require_confirmation(args, context)?;
    let place = if args.pane { Some(pane::require(context)?) } else { None };
    let (mut work, executor) =
        if args.resume { start::resume(args, &site, context)? } else { start::start(args, site, context)? };
    let commands = final_commands(&work.context.repo, args.consent(), context)?;
    work.set_coverage_command(&commands);
    let mut screen = ProgressPrinter::new(args, context);
    screen.begun(&work)?;
    let place = start::find_pane(place, &work, context)?;
    drive::run_to_end(&mut work, &executor, &commands, place, &mut screen)?;
    screen.ended(&work)?;
    Ok(if matches!(work.run.stage, RunStage::Done { .. }) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILURE)
    })
}

/// Fails early if a later question could not be asked, before anything has changed.
fn require_confirmation(args: &AutopilotArgs, context: &Context) -> Result<(), PawError> {
    let can_ask = TerminalPrompter.is_interactive() && !context.output.wants_json();
    if args.no_confirm && !args.preview || can_ask {
        return Ok(());
    }
    let why = if context.output.wants_json() { "--json disables prompts" } else { "stdin is not a terminal" };
    let hint = if args.preview {
        "omit --preview, which needs a terminal"
    } else {
        "use --no-confirm to create the branch, push it and open the pull request without asking; add --no-push to skip the push"
    };
    Err(PawError::ConfigError(format!("autopilot cannot ask for confirmation: {why}; nothing was done"))
        .hint(hint))
}
