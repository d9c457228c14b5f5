//! `git paw verify`

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use paw_core::text::short_commit;
use paw_host::clock;
use paw_supervisor::gates::{self, Gate, GateProof, GateReport, GateRequest, GateStatus, StopRequest};
use paw_supervisor::merge::{agent_of, members_of};
use paw_supervisor::pane_request::{PaneRequest, RequestedRun};
use paw_supervisor::proof::{self, ProvenReport, Reuse};
use serde::Serialize;
use serde_json::Value;

use crate::approval::{self, Consent};
use crate::context::Context;
use crate::output::{Style, to_json};
use crate::session_run::RequesterArgs;

/// Verify a branch: run the project's gates on a clean checkout of its tip
///
/// The gates are the commands under [supervisor]: test_command, lint_command, build_command, fmt_check_command,
/// doc_build_command, spec_validate_command, security_audit_command and doc_tool_command. They run in a checkout that git
/// paw keeps for the branch, never in the agent's worktree; if the branch moves meanwhile, they run again. A failure that
/// the main branch has, too, does not count against the branch. The result belongs to the commit, is signed (git paw proof)
/// and published to the session's agents. A signed result of the same tree, gates, setup, environment and sandbox is reused
/// for a day, so that nothing is tested twice. In an agent's pane, the session's process runs the gates and signs the result.
/// The exit code is 0 only if the commit is verified.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw verify feat/auth
  git paw verify auth --gate test --gate lint
  git paw verify feat/auth --rerun
  git paw verify feat/auth --trust --json")]
pub(crate) struct VerifyArgs {
    /// The agent, by its branch, id or a unique prefix; or any other branch
    #[arg(value_name = "AGENT|BRANCH")]
    pub(crate) branch: String,
    /// Run only this gate; repeatable
    #[arg(long = "gate", value_name = "GATE", value_parser = PossibleValuesParser::new(Gate::ALL.map(Gate::as_str)))]
    pub(crate) gates: Vec<String>,
    /// Run the gates even if a signed proof says that they pass
    #[arg(long)]
    pub(crate) rerun: bool,
    /// Approve the repository's own gate commands without asking
    #[arg(long)]
    pub(crate) trust: bool,
    /// Kill a gate after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) requester: RequesterArgs,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    proven: &'a ProvenReport,
    published: bool,
}

pub(crate) fn run(args: &VerifyArgs, context: &Context) -> Result<ExitCode, PawError> {
    if let Some(request) = find_request(args, context)? {
        return context.run_request(&request);
    }
    let (proven, published) = prove(args, StopRequest::on_signals, context)?;
    let output = context.output;
    if output.wants_json() {
        output.document(&Answer { proven: &proven, published })?;
    } else {
        show(&proven.report, context)?;
    }
    Ok(if proven.report.proof == GateProof::Verified {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILURE)
    })
}

/// The answer for programs.
pub(crate) fn answer(args: &VerifyArgs, context: &Context) -> Result<Value, PawError> {
    if let Some(request) = find_request(args, context)? {
        return context.answer_request(&request);
    }
    let (proven, published) = prove(args, || Ok(StopRequest::default()), context)?;
    to_json(&Answer { proven: &proven, published })
}

fn find_request(args: &VerifyArgs, context: &Context) -> Result<Option<PaneRequest>, PawError> {
    let gates = args.gates.iter().filter_map(|name| Gate::find(name)).collect();
    let what = RequestedRun::Verify { branch: args.branch.clone(), gates, rerun: args.rerun };
    context.find_request(what, (args.timeout, args.trust), &args.requester)
}

/// `stop` is created after all questions, so that Ctrl+C still cancels those.
fn prove(
    args: &VerifyArgs,
    stop: impl FnOnce() -> Result<StopRequest, PawError>,
    context: &Context,
) -> Result<(ProvenReport, bool), PawError> {
    let order = gather(args, context)?;
    let order = GateRequest { stop: stop()?, ..order };
    let reuse = if args.rerun { Reuse::Never } else { Reuse::Signed };
    let mut progress = |line: &str| args.requester.show_progress(context.output, line);
    let proven = proof::verify(&order, reuse, clock::now(), &mut progress)?;
    let published = publish(&proven.report, args, context)?;
    Ok((proven, published))
}

fn gather(args: &VerifyArgs, context: &Context) -> Result<GateRequest, PawError> {
    let branch = context.find_meant_branch(&args.branch)?;
    let repo = context.require_repo()?;
    if let Some(session) = context.find_session()? {
        context.fetch_remote_branch(&session, &branch)?;
    }
    let consent = Consent::of_flag(args.trust);
    let checks = approval::checks(&repo, consent, context)?;
    for missing in checks.governance(&repo).missing {
        context.output.warn(&missing.to_string());
    }
    let only = args.gates.iter().filter_map(|name| Gate::find(name)).collect();
    Ok(GateRequest {
        only,
        ..checks.request(&repo, branch, Duration::from_secs(args.timeout), &context.dirs)?
    })
}

/// Publishes the report to the session, if there is one. Returns whether it did.
fn publish(report: &GateReport, args: &VerifyArgs, context: &Context) -> Result<bool, PawError> {
    let client = context.broker_client()?;
    let members = context.find_session()?.map(|session| members_of(&session.receipt)).unwrap_or_default();
    let requester = args.requester.agent();
    let published = report.publish(agent_of(&members, &report.branch), requester.as_ref(), &client);
    Ok(published.unwrap_or_else(|error| {
        context.output.warn(&format!("not published: {error}"));
        false
    }))
}

fn show(report: &GateReport, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    let row = |finding: &gates::GateFinding| {
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
    // These failures are not among the errors, but they still need a fix.
    for finding in report.findings.iter().filter(|finding| finding.status == GateStatus::FailedBefore) {
        output.note(&format!("{} also fails on the main branch: {}", finding.gate, finding.end));
        for line in &finding.tail {
            output.note(&format!("  {line}"));
        }
        output.note(&format!("  full log: {}", finding.log));
    }
    if report.audit.is_empty() && !report.governance.is_empty() {
        output.note(&format!(
            "not audited: 'git paw audit {}' lists what your documents ask for",
            report.branch
        ));
    }
    let style = if report.proof == GateProof::Verified { Style::Success } else { Style::Error };
    let word = output.paint(style, report.proof.as_str());
    let why = report.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let commit = short_commit(&report.commit);
    output.say(&format!("{word} {} at {commit}{why}", report.branch))
}
