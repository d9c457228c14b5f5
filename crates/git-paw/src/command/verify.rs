//! `git paw verify`

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use paw_broker::client::ClientError;
use paw_core::error::EXIT_FAILURE;
use paw_core::text::short_commit;
use paw_core::{AgentId, BranchName, PawError};
use paw_host::clock;
use paw_host::git::Repo;
use paw_supervisor::gates::{self, Gate, Order, Proof, Report, Status, Stop, governance, message};
use paw_supervisor::merge::members_of;
use serde::Serialize;
use serde_json::Value;

use crate::approval::{self, Checks, Consent};
use crate::context::Context;
use crate::interrupt::stop_on_signals;
use crate::output::Style;

/// Prove a branch: run the project's gates on a clean checkout of its tip
///
/// The gates are the commands of [supervisor]: test_command, lint_command, build_command, fmt_check_command,
/// doc_build_command, spec_validate_command, security_audit_command (and doc_tool_command). They run in the branch's own
/// worktree while nothing in it is uncommitted, else in a checkout that is kept for this. A failure that the main branch
/// has as well is not held against the branch. The result belongs to the commit and is published to the agents of the
/// session. Ends with 0 only if the commit is verified.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw verify feat/auth
  git paw verify feat/auth --gate test --gate lint
  git paw verify feat/auth --trust --json")]
pub(crate) struct VerifyArgs {
    /// The branch to verify
    pub(crate) branch: String,
    /// Run only this gate; can be given several times
    #[arg(long = "gate", value_name = "GATE", value_parser = PossibleValuesParser::new(Gate::ALL.map(Gate::as_str)))]
    pub(crate) gates: Vec<String>,
    /// Approve the repository's own gate commands, without being asked
    #[arg(long)]
    pub(crate) trust: bool,
    /// End a gate that takes longer
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    published: bool,
}

pub(crate) fn run(args: &VerifyArgs, context: &Context) -> Result<ExitCode, PawError> {
    let (report, published) = prove(args, stop_on_signals, context)?;
    let output = context.output;
    if output.wants_json() {
        output.document(&Answer { report: &report, published })?;
    } else {
        show(&report, context)?;
    }
    Ok(if report.proof == Proof::Verified { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILURE) })
}

/// The answer for programs.
pub(crate) fn answer(args: &VerifyArgs, context: &Context) -> Result<Value, PawError> {
    let (report, published) = prove(args, || Ok(Stop::default()), context)?;
    serde_json::to_value(Answer { report: &report, published })
        .map_err(|error| PawError::IoError(error.to_string()))
}

/// `stop`: made when all questions have been answered.
fn prove(
    args: &VerifyArgs,
    stop: impl FnOnce() -> Result<Stop, PawError>,
    context: &Context,
) -> Result<(Report, bool), PawError> {
    let order = gather(args, context)?;
    let order = Order { stop: stop()?, ..order };
    let report = gates::verify(&order, clock::now(), &mut |line| context.output.progress(line))?;
    let published = publish(&report, context)?;
    Ok((report, published))
}

fn gather(args: &VerifyArgs, context: &Context) -> Result<Order, PawError> {
    let branch = BranchName::new(&args.branch)?;
    let repo = context.require_repo()?;
    let consent = if args.trust { Consent::Given } else { Consent::Ask };
    let checks = approval::checks(&repo, None, consent, context)?;
    let only = args.gates.iter().filter_map(|name| Gate::find(name)).collect();
    Ok(Order { only, ..order(&repo, branch, checks, Duration::from_secs(args.timeout), context)? })
}

/// Everything that proves a branch.
pub(super) fn order(
    repo: &Repo,
    branch: BranchName,
    checks: Checks,
    limit: Duration,
    context: &Context,
) -> Result<Order, PawError> {
    Ok(Order {
        branch,
        steps: checks.steps,
        only: Vec::new(),
        limit,
        keep_in: gates::kept_checkouts(&context.dirs, repo),
        ready: checks.ready,
        governance: governance::load(&checks.config.governance, &repo.root)?,
        repo: repo.clone(),
        stop: Stop::default(),
    })
}

/// Tells the session, if there is one, and says whether it did.
pub(super) fn publish(report: &Report, context: &Context) -> Result<bool, PawError> {
    let client = context.broker_client()?;
    let members = context.find_session()?.map(|session| members_of(&session.receipt)).unwrap_or_default();
    let member = members.into_iter().find(|member| member.branch == report.branch);
    let agent = member.map_or_else(|| AgentId::slug(&report.branch), |member| member.agent);
    let message = message::compose(report, agent, client.agent().clone());
    match message.map(|message| client.say(&message, clock::now())) {
        None | Some(Err(ClientError::NoSession)) => Ok(false),
        Some(Ok(_)) => Ok(true),
        Some(Err(error)) => {
            context.output.warn(&format!("not published: {error}"));
            Ok(false)
        }
    }
}

fn show(report: &Report, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let row = |finding: &gates::Finding| {
        [
            finding.gate.to_string(),
            finding.status.as_str().to_owned(),
            format!("{}s", finding.seconds),
            finding.command.clone(),
        ]
    };
    if !report.findings.is_empty() {
        output.table(["GATE", "RESULT", "TIME", "COMMAND"], report.findings.iter().map(row).collect())?;
    }
    for error in &report.errors {
        output.note(error);
    }
    // What is not held against the branch is in no error, and still somebody has to mend it.
    for finding in report.findings.iter().filter(|finding| finding.status == Status::FailedBefore) {
        output.note(&format!("{} fails on the main branch as well: {}", finding.gate, finding.end));
        for line in &finding.tail {
            output.note(&format!("  {line}"));
        }
        output.note(&format!("  all of it: {}", finding.log));
    }
    let style = if report.proof == Proof::Verified { Style::Good } else { Style::Bad };
    let word = output.paint(style, report.proof.as_str());
    let why = report.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let commit = short_commit(&report.commit);
    output.say(&format!("{word} {} at {commit}{why}", report.branch))
}
