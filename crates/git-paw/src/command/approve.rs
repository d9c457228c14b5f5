//! `git paw approve` and `git paw deny`

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_broker::message::FeedbackMessage;
use paw_core::receipt::RemoteAgentReceipt;
use paw_core::{AgentId, ErrorCode, PawError, text};
use paw_host::clock;
use paw_session::lifecycle::Session;
use paw_supervisor::prompt_reply::{PendingPrompt, PromptReply, PromptSummary};
use serde_json::json;

use crate::context::Context;
use crate::output::Style;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};

/// Approve the prompt that an agent waits at
///
/// Shows the whole command or edit and how git paw judges it, asks, and then presses the key in the agent's pane, if the pane
/// still shows exactly this prompt. A prompt that cannot be read completely is not approved.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw approve feat/auth
  git paw approve auth --yes
  git paw approve auth --dry-run --json
  git paw approve auth --yes --expect \"cargo test\"")]
pub(crate) struct ApproveArgs {
    /// The agent, by its branch, id or a unique prefix, or "supervisor"
    agent: String,
    /// Do not ask
    #[arg(long, short, group = "decision")]
    yes: bool,
    /// Show the prompt and how git paw judges it, and approve nothing
    #[arg(long, group = "decision")]
    dry_run: bool,
    /// Approve only if the prompt asks for exactly this
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
    /// Print one JSON document; requires --yes or --dry-run
    #[arg(long, requires = "decision")]
    pub(crate) json: bool,
}

/// Deny the prompt that an agent waits at
///
/// Presses the key that refuses the command or edit in the agent's pane.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw deny feat/auth
  git paw deny feat/auth --tell \"use the staging database\"")]
pub(crate) struct DenyArgs {
    /// The agent, by its branch, id or a unique prefix, or "supervisor"
    agent: String,
    /// Also send the agent a message with what to do instead
    #[arg(long, value_name = "TEXT")]
    tell: Option<String>,
    /// Deny only if the prompt asks for exactly this
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn approve(args: &ApproveArgs, context: &Context) -> Result<(), PawError> {
    let who = require_operator("approve for an agent", context)?;
    if let Some((session, agent)) = context.find_remote(&args.agent)? {
        let flags = [(args.yes, "--yes"), (args.dry_run, "--dry-run"), (args.json, "--json")];
        let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.to_owned());
        let words: Vec<_> = flags.chain(expectation(args.expect.as_ref())).collect();
        return forward("approve", &words, (&session, &agent), context);
    }
    let session = context.require_session()?;
    let prompt = PendingPrompt::find(&session, &args.agent, clock::now())?;
    args.expect.as_ref().map_or(Ok(()), |seen| prompt.require_text(seen))?;
    if args.dry_run {
        return preview(&prompt, context);
    }
    prompt.check(PromptReply::Approve, &who)?;
    if !args.yes {
        if io::stdin().is_terminal() {
            show(&prompt.summary(&context.dirs)?, context)?;
        }
        let question = PromptQuestion { text: "Approve it once?", instead: "use --yes" };
        if !TerminalPrompter.confirm(&question, false)? {
            return Err(PawError::UserCancelled);
        }
    }
    prompt.reply(&session, PromptReply::Approve, &who, clock::now())?;
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": prompt.agent(), "approved": prompt.text()}));
    }
    context.output.say(&format!("approved for {}: {}", prompt.agent(), text::line(&prompt.text())))
}

pub(crate) fn deny(args: &DenyArgs, context: &Context) -> Result<(), PawError> {
    let who = require_operator("deny for an agent", context)?;
    if let Some((session, agent)) = context.find_remote(&args.agent)? {
        let tell = args.tell.as_ref().map(|text| format!("--tell={text}"));
        let json = args.json.then(|| "--json".to_owned());
        let words: Vec<_> = tell.into_iter().chain(json).chain(expectation(args.expect.as_ref())).collect();
        return forward("deny", &words, (&session, &agent), context);
    }
    let session = context.require_session()?;
    let prompt = PendingPrompt::find(&session, &args.agent, clock::now())?;
    args.expect.as_ref().map_or(Ok(()), |seen| prompt.require_text(seen))?;
    prompt.reply(&session, PromptReply::Deny, &who, clock::now())?;
    if let Some(text) = &args.tell {
        let errors = vec![format!("[directive] {text}")];
        let message = FeedbackMessage::new(prompt.agent().clone(), who, errors);
        context.broker_client()?.publish(&message.into(), clock::now())?;
    }
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": prompt.agent(), "denied": prompt.text()}));
    }
    context.output.say(&format!("denied for {}: {}", prompt.agent(), text::line(&prompt.text())))
}

/// The supervisor answers with `git paw sweep approve`; everything else is the user's decision.
fn require_operator(action: &'static str, context: &Context) -> Result<AgentId, PawError> {
    let who = context.privileged_client(action)?.agent().clone();
    if who.as_str() == AgentId::OPERATOR {
        return Ok(who);
    }
    Err(PawError::new(ErrorCode::FailedPrecondition, format!("{who} may not {action}: only the user may")))
}

fn expectation(seen: Option<&String>) -> Option<String> {
    seen.map(|seen| format!("--expect={seen}"))
}

/// The machine of the agent reads the prompt and presses the keys.
fn forward(
    verb: &str,
    words: &[String],
    (session, agent): (&Session, &RemoteAgentReceipt),
    context: &Context,
) -> Result<(), PawError> {
    let words = [verb, agent.agent_id.as_str()].into_iter().chain(words.iter().map(String::as_str));
    let words: Vec<_> = words.collect();
    if context.output.wants_json() {
        return context.output.document(&context.ask_remote(&session.receipt, &agent.host, &words)?);
    }
    context.forward_checked(&session.receipt, &agent.host, &words)
}

fn preview(prompt: &PendingPrompt, context: &Context) -> Result<(), PawError> {
    let summary = prompt.summary(&context.dirs)?;
    if context.output.wants_json() {
        return context.output.document(&summary);
    }
    show(&summary, context)?;
    summary.refused.map_or(Ok(()), |refused| context.output.say(&refused))
}

fn show(prompt: &PromptSummary, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    output.say(&format!("{} ({}) wants:", prompt.agent, prompt.cli))?;
    output.say("")?;
    for line in prompt.text.lines() {
        output.say(&format!("  {}", output.paint(Style::Bold, line)))?;
    }
    output.say("")?;
    let (style, word) = if prompt.allowed {
        (Style::Success, "allowed by your rules")
    } else {
        (Style::Warning, "not allowed automatically")
    };
    output.say(&format!("{}: {}", output.paint(style, word), prompt.reason))
}
