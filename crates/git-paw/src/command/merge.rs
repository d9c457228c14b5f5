//! `git paw merge`

mod proof;
pub(super) mod show;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use paw_broker::client::{Client, ClientError};
use paw_broker::identity::Caller;
use paw_broker::{Message, SessionId};
use paw_core::error::EXIT_FAILURE;
use paw_core::{BranchName, PawError};
use paw_host::clock;
use paw_host::git::Repo;
use paw_host::trust::Approver;
use paw_supervisor::gates::Stop;
use paw_supervisor::merge::{self, Hands, Merge, MergeError, Report, Step, Testimony};

use crate::context::Context;
use crate::interrupt::stop_on_signals;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};
pub(super) use proof::Tests;

/// Merge the agents' branches into the main branch, each tested before main moves
///
/// Branches are merged one after the other, those that others waited for (agent.blocked) first. Each is checked out in a
/// temporary worktree and tested with [supervisor] test_command; only then is main moved to it, fast-forward only. A
/// branch that has diverged is skipped, or put on top of main first with --rebase. What fails is told to its agent and
/// kept; main never has it. Your own changes in the main checkout are left alone, or the branch is refused. Every branch
/// must be verified at its tip (git paw verify), unless you name what you want. A merge that was interrupted is gone on
/// with. Ends with 0 only if main has everything that was to be merged.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw merge --dry-run
  git paw merge --rebase
  git paw merge --only feat/auth,feat/api --json")]
pub(crate) struct MergeArgs {
    /// Show the order and what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Merge only these branches or agents, verified or not
    #[arg(long, value_name = "BRANCH", value_delimiter = ',')]
    only: Vec<String>,
    /// The same as --only
    #[arg(value_name = "BRANCH", conflicts_with = "only")]
    named: Vec<String>,
    /// End tests that take longer
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Put a branch that has diverged on top of main first
    #[arg(long)]
    rebase: bool,
    /// Approve the repository's own commands, without being asked
    #[arg(long)]
    trust: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &MergeArgs, context: &Context) -> Result<ExitCode, PawError> {
    let repo = context.require_repo()?;
    let client = context.broker_client()?;
    let only = if args.named.is_empty() { &args.only } else { &args.named };
    let merge = open(only, &repo, context)?;
    if args.dry_run {
        show::forecast(&merge, args.rebase, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !Caller::Known(client.agent().clone()).is_in_charge() {
        return Err(PawError::SessionError(format!("{} may not merge", client.agent()))
            .hint("say that you are done; the supervisor or the user merges"));
    }
    let tests = Tests::gather(&repo, args.trust, Duration::from_secs(args.timeout), context)?;
    if only.is_empty() {
        require_verified(&merge, context)?;
    }
    let stop = stop_on_signals()?;
    let report = carry_out(merge, args.rebase, &tests, &client, &stop, context)?;
    show::report(&report, context)?;
    Ok(if report.is_complete() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

/// Merges what is planned, telling the session. Once `stop` is raised, no proof counts any more: its tests were ended.
pub(super) fn carry_out(
    merge: Merge,
    rebase: bool,
    tests: &Tests<'_>,
    client: &Client,
    stop: &Stop,
    context: &Context,
) -> Result<Report, PawError> {
    let output = context.output;
    let mut on_step = |step: Step, branch: Option<&BranchName>| {
        if let (Step::Testing, Some(branch)) = (step, branch) {
            output.progress(&format!("testing {branch} …"));
        }
    };
    let mut hands = Hands {
        prove: &mut |checkout| tests.prove(checkout, stop),
        tell: &mut |message| tell(client, message),
        on_step: &mut on_step,
        me: client.agent(),
        now: &clock::now,
    };
    Ok(merge.run(rebase, &mut hands)?)
}

/// A merge of these branches or agents, or of everybody's in the session.
pub(super) fn open(only: &[String], repo: &Repo, context: &Context) -> Result<Merge, PawError> {
    let git = repo.git();
    let base = git.find_default_branch()?.ok_or(MergeError::NoBase(None))?;
    let local = git.local_branches()?;
    let session = context.find_session()?;
    let members = session.as_ref().map(|session| merge::members_of(&session.receipt));
    let members = merge::choose(members, only, &base, |branch| local.contains(branch))?;
    let id = session.map(|session| SessionId::new(&session.receipt.session_id()));
    let testimony = Testimony::load(&repo.common_dir, id.as_ref())?;
    Ok(Merge::open(repo, &base, &members, testimony, clock::now())?)
}

/// Everybody is verified at their current tip, or the person at the terminal wants it all the same.
fn require_verified(merge: &Merge, context: &Context) -> Result<(), PawError> {
    let unverified = merge.unverified()?;
    let names: Vec<_> = unverified.iter().map(|entry| entry.branch.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let text = format!("Not verified at the current tip: {}. Merge all the same?", names.join(", "));
    let prompter = TerminalPrompter;
    if !context.output.wants_json() && prompter.is_interactive() && Approver::from_env().is_ok() {
        let wanted = prompter.confirm(&Question { text: &text, instead: "git paw merge --only" }, false)?;
        return if wanted { Ok(()) } else { Err(PawError::UserCancelled) };
    }
    Err(PawError::SessionError(format!("not verified at the current tip: {}", names.join(", "))).hint(
        format!(
            "git paw verify {}, or name what is to be merged all the same: git paw merge --only {}",
            names[0],
            names.join(",")
        ),
    ))
}

/// Without a session there is nobody to tell.
fn tell(client: &Client, message: &Message) -> Result<(), PawError> {
    match client.say(message, clock::now()) {
        Ok(_) | Err(ClientError::NoSession) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
