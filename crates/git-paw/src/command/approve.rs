//! `git paw approve` and `git paw deny`

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_broker::message::FeedbackMessage;
use paw_core::{AgentId, ErrorCode, PawError, text};
use paw_host::clock;
use paw_supervisor::approval::ApprovalVerdict;
use paw_supervisor::prompt_reply::{PendingPrompt, PromptReply};
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
  git paw approve auth --yes")]
pub(crate) struct ApproveArgs {
    /// The agent, by its branch, id or a unique prefix, or "supervisor"
    agent: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print one JSON document; requires --yes
    #[arg(long, requires = "yes")]
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
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn approve(args: &ApproveArgs, context: &Context) -> Result<(), PawError> {
    let who = require_operator("approve for an agent", context)?;
    if let Some((session, agent)) = context.find_remote(&args.agent)? {
        let flags = [(args.yes, "--yes"), (args.json, "--json")];
        let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag);
        let args: Vec<_> = ["approve", agent.agent_id.as_str()].into_iter().chain(flags).collect();
        return context.forward_checked(&session.receipt, &agent.host, &args);
    }
    let session = context.require_session()?;
    let prompt = PendingPrompt::find(&session, &args.agent, clock::now())?;
    prompt.check(PromptReply::Approve, &who)?;
    if !args.yes {
        show(&prompt, context)?;
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
        let text = args.tell.as_deref().map(|text| ["--tell", text]);
        let json = args.json.then_some("--json");
        let args = ["deny", agent.agent_id.as_str()].into_iter();
        let args: Vec<_> = args.chain(text.into_iter().flatten()).chain(json).collect();
        return context.forward_checked(&session.receipt, &agent.host, &args);
    }
    let session = context.require_session()?;
    let prompt = PendingPrompt::find(&session, &args.agent, clock::now())?;
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

fn show(prompt: &PendingPrompt, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    output.say(&format!("{} ({}) wants:", prompt.agent(), prompt.cli()))?;
    output.say("")?;
    for line in text::block(&prompt.text()).lines() {
        output.say(&format!("  {}", output.paint(Style::Bold, line)))?;
    }
    output.say("")?;
    let (style, word, reason) = match prompt.verdict(&context.dirs)? {
        ApprovalVerdict::Allow { reason } => (Style::Success, "allowed by your rules", reason),
        ApprovalVerdict::Ask { reason } => (Style::Warning, "not allowed automatically", reason),
    };
    output.say(&format!("{}: {}", output.paint(style, word), text::line(&reason)))
}
