//! `git paw autopilot`: a task done test-first, on its own, with proof.

mod budget;
mod dry_run;
mod gather;
mod paused;
mod show;
mod words;

use std::process::ExitCode;

use clap::Args;
use paw_autopilot::drive::drive;
use paw_autopilot::engine::{Budget, Stage};
use paw_autopilot::executor::Executor;
use paw_autopilot::work::{self, Plan, Relaxation, Site, Wishes, Work};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;

use crate::approval::Consent;
use crate::command::autopilot_guide::{self, Verb};
use crate::command::tasks::expand::agree_and_write;
use crate::context::Context;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};

pub(crate) use gather::{executor, final_commands, subject, test_command};
use show::Screen;

/// Do a task test-first, on its own: failing tests, code, proof, commit; then push and pull request
///
/// For each subtask an executor (an AI CLI, or a program of yours) writes failing tests, then the code that makes them pass.
/// The tests are run here, and only what they prove is committed, on a branch of its own. A run that cannot go on pauses
/// with its state, the reason and what to do; --resume goes on. Without a task the next one is done.
///
/// With a verb, an agent asks for the work and does it: start, next, complete, commit, status, resume, finalize, abort.
/// tui shows tasks and runs side by side in tmux.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  git paw autopilot 42 --dry-run
  git paw autopilot 42 --executor claude
  git paw autopilot 42 --no-confirm --no-push --budget 30m,$5
  git paw autopilot --resume"
)]
pub(crate) struct AutopilotArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Which task; the next one if you name none
    #[arg(value_name = "TASK", conflicts_with = "resume")]
    task: Option<String>,
    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on with the run that was paused or interrupted
    #[arg(long)]
    resume: bool,
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
    /// Print one JSON document at the end; what is going on goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
}

impl AutopilotArgs {
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.verb.as_ref().is_some_and(Verb::wants_json)
    }

    fn consent(&self) -> Consent {
        if self.trust { Consent::Given } else { Consent::Ask }
    }

    fn wishes(&self, site: &Site) -> Wishes {
        Wishes {
            task: self.task.clone(),
            tag: self.tag.clone(),
            runner: self.runner.clone(),
            commit_scope: self.commit_scope.clone(),
            executor: self.executor.clone(),
            max_attempts: self.max_attempts,
            budget: self.budget.unwrap_or_default(),
            push: !self.no_push,
            pull_request: !self.no_push && !self.no_pr && site.settings.pull_request.enabled,
            relax: self.force.clone(),
        }
    }
}

pub(crate) fn run(args: &AutopilotArgs, context: &Context) -> Result<ExitCode, PawError> {
    if let Some(verb) = &args.verb {
        return autopilot_guide::run(verb, context);
    }
    let repo = context.require_repo()?;
    let site = Site::find(repo, &context.cwd, &context.search_path)?;
    for warning in &site.settings.warnings {
        context.output.warn(&format!("{}: {warning}", site.project.config_file().display()));
    }
    if args.dry_run {
        return dry_run::run(args, &site, context);
    }
    require_somebody(args, context)?;
    let (mut work, executor) =
        if args.resume { resume(args, &site, context)? } else { begin(args, site, context)? };
    let commands = final_commands(&work.site.repo, args.consent(), context)?;
    let mut screen = Screen::new(args, context);
    screen.begun(&work)?;
    drive(&mut work, &executor, &commands, &mut screen)?;
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
        "autopilot asks before it makes a branch, pushes it or opens a pull request, and {why}; nothing was done\nhint: {hint}"
    )))
}

fn begin(args: &AutopilotArgs, site: Site, context: &Context) -> Result<(Work, Executor), PawError> {
    let executor = gather::executor(args.executor.as_deref(), &site, args.consent(), context)?;
    let wishes = Wishes { executor: Some(executor.name.clone()), ..args.wishes(&site) };
    let mut plan = work::plan(&site, &wishes, &[executor.program()])?;
    if plan.problems().is_empty() && plan.needs_subtasks {
        divide(args, &site, &plan, &executor, context)?;
        plan = work::plan(&site, &wishes, &[executor.program()])?;
    }
    if !args.no_confirm {
        ask_to_begin(&plan)?;
    }
    let approves = gather::approves(&site, args.consent(), context);
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
    let what = match plan.subtasks.len() {
        1 => "1 subtask".to_owned(),
        many => format!("{many} subtasks"),
    };
    let text = format!("Create branch {} and do {what} of task {}?", plan.branch, plan.task_id);
    if TerminalPrompter.confirm(&Question { text: &text, instead: "--no-confirm" }, true)? {
        Ok(())
    } else {
        Err(PawError::UserCancelled)
    }
}

fn resume(args: &AutopilotArgs, site: &Site, context: &Context) -> Result<(Work, Executor), PawError> {
    let approves = gather::approves(site, args.consent(), context);
    let stored = Work::stored_wishes(site)?;
    let name = args.executor.as_deref().or(stored.executor.as_deref());
    let executor = gather::executor(name, site, args.consent(), context)?;
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
