//! `git paw report`

use clap::Args;
use paw_broker::SessionId;
use paw_core::text::{self, plural};
use paw_core::{AgentId, PawError};
use paw_session::messages;
use paw_supervisor::approval::log::VerdictLog;
use paw_supervisor::report::{AgentReport, SessionReport, UserDecision, UserDecisionKind};
use serde_json::json;

use crate::context::Context;
use crate::output::to_json;

/// Report what happened in the session, and how often it needed you
///
/// Counts verified and failed commits, merges, questions, conflicts, rate limits and exits of each agent's CLI, and the commands
/// that were approved without you. What you decided yourself is listed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw report
  git paw report --json")]
pub(crate) struct ReportArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_args: &ReportArgs, context: &Context) -> Result<(), PawError> {
    let report = load(context)?;
    let output = context.output;
    if output.wants_json() {
        let mut document = to_json(&report)?;
        document["needed_you"] = json!(report.decisions.len());
        return output.document(&document);
    }
    if report.is_empty() {
        return output.say("nothing happened yet: no agent had anything verified, merged, asked or approved");
    }
    let rows: Vec<_> = report.agents.iter().map(row).collect();
    let titles = [
        "AGENT",
        "VERIFIED",
        "FAILED",
        "MERGED",
        "REFUSED",
        "QUESTIONS",
        "CONFLICTS",
        "LIMITS",
        "EXITS",
        "APPROVED",
    ];
    if !rows.is_empty() {
        output.table(titles, rows)?;
    }
    output.say(&format!("needed you {}", plural(report.decisions.len(), "time")))?;
    report.decisions.iter().try_for_each(|decision| output.say(&line(decision)))
}

fn load(context: &Context) -> Result<SessionReport, PawError> {
    let session = context.require_session()?;
    let mut report = SessionReport::default();
    let id = SessionId::new(&session.receipt.session_id());
    messages::each(&session.repo.common_dir, &id, |stored| report.add_message(&stored))?;
    let name = Some(session.receipt.session_name.to_string());
    for entry in VerdictLog::of(&session.repo.common_dir).load()? {
        // Names of sessions are used again.
        if entry.session == name && entry.at >= session.receipt.created_at {
            report.add_verdict(&entry);
        }
    }
    // It sends messages, but what happens to it is not counted.
    report.agents.remove(&AgentId::supervisor());
    report.agents.remove(&AgentId::operator());
    Ok(report)
}

fn row((agent, report): (&AgentId, &AgentReport)) -> [String; 10] {
    let AgentReport {
        verified,
        gates_failed,
        merged,
        not_merged,
        questions,
        conflicts,
        rate_limits,
        exits,
        approved,
    } = report;
    let counts =
        [verified, gates_failed, merged, not_merged, questions, conflicts, rate_limits, exits, approved];
    let cell = |column: usize| counts.get(column.wrapping_sub(1)).map(ToString::to_string);
    std::array::from_fn(|column| cell(column).unwrap_or_else(|| agent.to_string()))
}

fn line(decision: &UserDecision) -> String {
    let what = match decision.kind {
        UserDecisionKind::Approved => "approved",
        UserDecisionKind::Denied => "denied",
        UserDecisionKind::Answered => "answered",
    };
    let text = text::reveal(&text::truncate_chars(&decision.text, 100));
    format!("  {}: {what}: {text}", decision.agent)
}
