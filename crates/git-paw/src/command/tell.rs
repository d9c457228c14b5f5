//! `git paw tell`

use std::time::Duration;

use clap::Args;
use paw_agent::cli;
use paw_agent::deliver::{DeliveryOptions, deliver};
use paw_broker::message::FeedbackMessage;
use paw_core::config::TellMode;
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_supervisor::sweep;
use serde_json::json;

use crate::context::Context;

/// Send an instruction to an agent
///
/// Sends the text to the agent's inbox, which the agent reads between two steps. With --now the text is typed into the
/// agent's pane as a prompt, once its input is empty. The default is set in the configuration: [supervisor.tell] mode.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tell feat-auth \"use bcrypt for the passwords\"
  git paw tell feat-api --now \"skip the migration\"")]
pub(crate) struct TellArgs {
    /// The agent, by its id or its branch
    agent: String,
    #[arg(value_name = "TEXT")]
    text: String,
    /// Type the text into the agent's pane
    #[arg(long)]
    now: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// How long to wait for a busy agent.
const READY: Duration = Duration::from_secs(20);

pub(crate) fn run(args: &TellArgs, context: &Context) -> Result<(), PawError> {
    if args.text.trim().is_empty() {
        return Err(PawError::SessionError("the text is empty".to_owned()));
    }
    let session = context.require_session()?;
    let config = context.load_config()?.resolve()?;
    let agent = sweep::require_agent(sweep::sweep(&session, clock::now())?, &args.agent)?;
    let mode = config.supervisor.unwrap_or_default().tell.mode;
    let typed = args.now || mode == TellMode::SendKeys;
    if typed {
        let pane = agent.pane.as_ref().ok_or_else(|| {
            PawError::SessionError(format!("{} has no pane", agent.id)).hint("omit --now to send a message")
        })?;
        let options = DeliveryOptions { ready_timeout: READY, ..DeliveryOptions::default() };
        let options = options.with_config(config.clis.get(&agent.cli));
        deliver(&session.tmux, &pane.id, cli::descriptor(&agent.cli), &args.text, options)?;
    } else {
        let sent = send(&agent.id, &args.text, session.receipt.has_broker(), context);
        sent.map_err(|error| if session.receipt.has_broker() { error } else { no_inbox() })?;
    }
    if context.output.wants_json() {
        let way = if typed { "pane" } else { "inbox" };
        return context.output.document(&json!({"agent": agent.id, "way": way}));
    }
    let how = if typed { "typed into the pane of" } else { "sent to" };
    context.output.say(&format!("{how} {}", agent.id))
}

fn no_inbox() -> PawError {
    PawError::SessionError("this session has no broker, so its agents have no inbox".to_owned())
        .hint("use --now to type it into the pane, or set [broker] enabled = true for the next session")
}

fn send(agent: &AgentId, text: &str, has_broker: bool, context: &Context) -> Result<(), PawError> {
    let client = context.broker_client()?;
    // Without a broker the message would go to the log of an earlier session, which no agent reads.
    if !has_broker && !client.has_broker()? {
        return Err(no_inbox());
    }
    let errors = vec![format!("[directive] {text}")];
    let message = FeedbackMessage::new(agent.clone(), client.agent().clone(), errors);
    client.publish(&message.into(), clock::now())?;
    Ok(())
}
