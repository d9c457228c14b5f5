//! `git paw merge`

mod show;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_supervisor::gates::StopRequest;
use paw_supervisor::merge::project_tests::{self, ProjectTests};
use paw_supervisor::merge::{MergeLock, PlannedMerge};
use paw_supervisor::pane_request::RequestedRun;

use crate::approval::{self, Consent};
use crate::context::Context;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};
use crate::remote_worktrees::HostWorktrees;
use crate::session_run::RequesterArgs;

/// Merge agents' branches into the main branch, testing each before main moves
///
/// Branches are merged one after the other; branches that other agents are blocked on (agent.blocked) come first. All gates
/// (see git paw verify) run on each, in a checkout with build output of the main branch only. Only then does main move, by
/// fast-forward. A branch that has diverged is skipped, or rebased onto main with --rebase. A branch with a failing gate is
/// not merged, and its agent gets the failure. Your own changes in the main checkout are never overwritten; a branch that
/// would overwrite them is refused. Every branch must be verified at its tip (git paw verify) unless you name it. An
/// interrupted merge resumes. Branches of agents on other machines are fetched first, and rebased together with their worktrees
/// there. In the supervisor's pane, the session's process merges. The exit code is 0 only if everything was merged.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw merge --dry-run
  git paw merge --rebase
  git paw merge --only feat/auth,feat/api --json")]
pub(crate) struct MergeArgs {
    /// Show the order and the planned moves without doing anything
    #[arg(long)]
    dry_run: bool,
    /// Merge only these branches or agents, verified or not; unique prefixes are enough
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    only: Vec<String>,
    /// Same as --only
    #[arg(value_name = "AGENT", conflicts_with = "only")]
    named: Vec<String>,
    /// Kill a gate after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Rebase branches that have diverged onto main first
    #[arg(long)]
    rebase: bool,
    /// Approve the repository's own commands without asking
    #[arg(long)]
    trust: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    requester: RequesterArgs,
}

pub(crate) fn run(args: &MergeArgs, context: &Context) -> Result<ExitCode, PawError> {
    let repo = context.require_repo()?;
    let only = if args.named.is_empty() { &args.only } else { &args.named };
    let what = RequestedRun::Merge { only: only.clone(), rebase: args.rebase };
    if !args.dry_run
        && let Some(request) = context.find_request(what, (args.timeout, args.trust), &args.requester)?
    {
        context.privileged_client("merge")?;
        return context.run_request(&request);
    }
    let session = context.find_session()?;
    if let Some(session) = &session {
        context.fetch_remote(session);
    }
    let open = || project_tests::open(only, &repo, session.as_ref());
    if args.dry_run {
        show::forecast(&open()?, args.rebase, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lock = MergeLock::take(&repo)?;
    let merge = open()?;
    let client = context.privileged_client("merge")?;
    let checks = approval::checks(&repo, Consent::of_flag(args.trust), context)?;
    let remote = session.as_ref().and_then(HostWorktrees::find);
    let tests = ProjectTests::new(&repo, checks, Duration::from_secs(args.timeout), &context.dirs)
        .with_remote(remote.as_ref().map(|remote| remote as _));
    if only.is_empty() {
        require_verified(&merge, context)?;
    }
    let stop = StopRequest::on_signals()?;
    let on_line = |line: &str| args.requester.show_progress(context.output, line);
    let report = merge.run_with_tests(lock, args.rebase, &tests, &client, &stop, &on_line)?;
    show::report(&report, context)?;
    Ok(if report.is_complete() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

/// Fails unless every branch is verified at its tip or the user confirms.
fn require_verified(merge: &PlannedMerge, context: &Context) -> Result<(), PawError> {
    let unverified = merge.unverified()?;
    let names: Vec<_> = unverified.iter().map(|entry| entry.branch.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let text = format!("Not verified at the current tip: {}. Merge anyway?", names.join(", "));
    let prompter = TerminalPrompter;
    if !context.output.wants_json() && prompter.is_interactive() && context.approver().is_ok() {
        let wanted =
            prompter.confirm(&PromptQuestion { text: &text, instead: "git paw merge --only" }, false)?;
        return if wanted { Ok(()) } else { Err(PawError::UserCancelled) };
    }
    Err(PawError::SessionError(format!("not verified at the current tip: {}", names.join(", "))).hint(
        format!(
            "run 'git paw verify {}', or merge unverified branches with 'git paw merge --only {}'",
            names[0],
            names.join(",")
        ),
    ))
}
