//! `git paw tell`

use std::io::{self, Read as _};
use std::thread;
use std::time::Duration;

use clap::Args;
use paw_agent::cli;
use paw_agent::deliver::{DeliveryError, DeliveryOptions, deliver};
use paw_agent::state::AgentActivity;
use paw_broker::message::FeedbackMessage;
use paw_cluster::hub;
use paw_core::config::{PawConfig, TellMode};
use paw_core::receipt::RemoteAgentReceipt;
use paw_core::{AgentId, ErrorCode, PawError, Receipt};
use paw_host::clock::{self, Stopwatch};
use paw_session::lifecycle::Session;
use paw_session::lifecycle::status::{members, supervisor};
use paw_supervisor::sweep::{self, AgentSnapshot};
use paw_view::PromptDelivery;
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;

/// Send an instruction to an agent
///
/// Types the text into the pane of an agent that is idle, because an idle agent does not read its inbox. A busy agent gets it
/// in its inbox, which it reads between two steps. [supervisor.tell] mode sets another default.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tell feat/auth \"use bcrypt for the passwords\"
  git paw tell feat-api --now \"skip the migration\"
  git paw tell feat-api --stdin < notes.txt
  git paw tell --all --inbox \"main has moved; rebase before you finish\"")]
pub(crate) struct TellArgs {
    /// The agent, by its branch, id or a unique prefix, or "supervisor"
    #[arg(required_unless_present = "all")]
    agent: Option<String>,
    #[arg(value_name = "TEXT", required_unless_present_any = ["all", "stdin"])]
    text: Option<String>,
    /// Read the text from stdin
    #[arg(long, conflicts_with = "text")]
    stdin: bool,
    /// Send it to every agent; the only argument is the text
    #[arg(long)]
    all: bool,
    /// Type the text into the agent's pane, once its input is empty
    #[arg(long, conflicts_with = "inbox")]
    now: bool,
    /// Send it to the inbox, even of an idle agent
    #[arg(long)]
    inbox: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// The longest text on stdin.
const LONGEST: u64 = 256 << 10;
/// How long to wait for a busy agent.
const READY: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(100);

/// How an instruction reached an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum DeliveryWay {
    Pane,
    Inbox,
}

pub(crate) fn run(args: &TellArgs, context: &Context) -> Result<(), PawError> {
    let (name, text) = match (&args.agent, &args.text) {
        (name, None) if args.stdin && args.all != name.is_some() => (name.as_ref(), &read_stdin()?),
        (Some(text), None) if !args.stdin => (None, text),
        (name, Some(text)) if !args.all => (name.as_ref(), text),
        _ => {
            let problem = "--all takes only the text";
            return Err(
                PawError::new(ErrorCode::InvalidArgument, problem).hint("git paw tell --all \"text\"")
            );
        }
    };
    if text.trim().is_empty() {
        return Err(PawError::SessionError("the text is empty".to_owned()));
    }
    let session = context.require_session()?;
    if let Some(agent) = name.filter(|name| session.receipt.find_id(name).is_err())
        && let Some(agent) = session.receipt.find_elsewhere(agent)
    {
        let told = tell_remote(agent, text, args, &session, context)?;
        return if context.output.wants_json() { context.output.document(&told) } else { Ok(()) };
    }
    let config = context.load_config()?.resolve()?;
    let agents = match name {
        Some(name) => vec![sweep::find(&session, name, clock::now())?],
        None => sweep::sweep(&session, clock::now())?,
    };
    let mut told = Vec::new();
    if args.all {
        for agent in session.receipt.remote_agents() {
            told.push(tell_remote(agent, text, args, &session, context)?);
        }
    }
    for agent in &agents {
        let way = tell(agent, text, args, &session, &config, context)?;
        if !context.output.wants_json() {
            let how = if way == DeliveryWay::Pane { "typed into the pane of" } else { "sent to" };
            context.output.say(&format!("{how} {}", agent.id))?;
        }
        told.push(json!({"agent": agent.id, "way": way}));
    }
    if context.output.wants_json() {
        let document = if args.all { json!(told) } else { told.pop().unwrap_or_default() };
        return context.output.document(&document);
    }
    Ok(())
}

fn read_stdin() -> Result<String, PawError> {
    let mut text = String::new();
    let read = io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| PawError::SessionError(format!("cannot read the text from stdin: {error}")))?;
    if text.len() as u64 > LONGEST {
        let problem = format!("the text is longer than {} KiB", LONGEST >> 10);
        return Err(PawError::new(ErrorCode::InvalidArgument, problem));
    }
    Ok(text)
}

/// The user's text is delivered by the agent's machine, as it is here. What an agent says goes to the inbox, and so does
/// everything for a machine that cannot be reached: it arrives when the machine is back.
fn tell_remote(
    agent: &RemoteAgentReceipt,
    text: &str,
    args: &TellArgs,
    session: &Session,
    context: &Context,
) -> Result<Value, PawError> {
    let id = &agent.agent_id;
    let is_lost = session.unreachable_since(&agent.host).is_some() && !args.now;
    if args.inbox || is_lost || !context.caller()?.is_user() {
        send(id, text, session.receipt.has_broker(), context)?;
        if !context.output.wants_json() {
            let when =
                if is_lost { format!(", when {} can be reached again", agent.host) } else { String::new() };
            context.output.say(&format!("sent to {id}{when}"))?;
        }
        return Ok(json!({"agent": id, "way": DeliveryWay::Inbox}));
    }
    // Every user of a machine can read the arguments of its programs.
    let mut forwarded = vec!["tell", id.as_str(), "--stdin", "--json"];
    forwarded.extend(args.now.then_some("--now"));
    let host = hub::require_host(&session.repo, session.receipt.cluster.as_ref(), &agent.host)?;
    let told: Value = host.ask_with(&forwarded, text.as_bytes().to_vec())?;
    if !context.output.wants_json() {
        let how = if told["way"] == json!(DeliveryWay::Pane) { "typed into the pane of" } else { "sent to" };
        context.output.say(&format!("{how} {id} on {}", agent.host))?;
    }
    Ok(told)
}

fn tell(
    agent: &AgentSnapshot,
    text: &str,
    args: &TellArgs,
    session: &Session,
    config: &PawConfig,
    context: &Context,
) -> Result<DeliveryWay, PawError> {
    let has_broker = session.receipt.has_broker();
    let mode = config.supervisor.clone().unwrap_or_default().tell.mode;
    let is_idle = agent.known.state == AgentActivity::Idle;
    let is_briefed = first_prompt(&session.receipt, &agent.id) == PromptDelivery::Delivered;
    let typed = match mode {
        _ if args.now || args.inbox => args.now,
        TellMode::SendKeys => true,
        TellMode::Feedback => false,
        TellMode::Auto => (is_idle && is_briefed && may_type(context).is_ok()) || !has_broker,
    };
    if !typed {
        let sent = send(&agent.id, text, has_broker, context);
        sent.map_err(|error| if has_broker { error } else { no_inbox() })?;
        return Ok(DeliveryWay::Inbox);
    }
    may_type(context)?;
    wait_for_first_prompt(session, &agent.id)?;
    let pane = agent.pane.as_ref().ok_or_else(|| {
        PawError::SessionError(format!("{} has no pane", agent.id)).hint("use --inbox to send a message")
    })?;
    let options = DeliveryOptions { ready_timeout: READY, ..DeliveryOptions::default() };
    let options = options.with_config(config.clis.get(&agent.cli));
    let delivered = deliver(&session.tmux, &pane.id, cli::descriptor(&agent.cli), text, options);
    match delivered {
        // It became busy after it was looked at.
        Err(DeliveryError::NotReady { .. }) if has_broker && !args.now && mode == TellMode::Auto => {
            send(&agent.id, text, has_broker, context)?;
            Ok(DeliveryWay::Inbox)
        }
        delivered => delivered.map(|_| DeliveryWay::Pane).map_err(Into::into),
    }
}

/// Agents send each other messages; what is typed into a pane looks like the user's.
fn may_type(context: &Context) -> Result<(), PawError> {
    context.privileged_client("type into an agent's pane").map(drop)
}

/// The text must not overtake the agent's first prompt.
fn wait_for_first_prompt(session: &Session, agent: &AgentId) -> Result<(), PawError> {
    let watch = Stopwatch::start();
    let reason = loop {
        let Some(receipt) = session.receipts.load(&session.receipt.session_name)? else { return Ok(()) };
        let reason = match first_prompt(&receipt, agent) {
            PromptDelivery::Delivered => return Ok(()),
            PromptDelivery::Pending => None,
            PromptDelivery::Failed { prompt_problem } => Some(prompt_problem),
        };
        if reason.is_some() || watch.remaining(READY).is_zero() {
            break reason;
        }
        thread::sleep(POLL);
    };
    let problem = format!("{agent} has not received its first prompt yet");
    let error = PawError::new(ErrorCode::FailedPrecondition, problem);
    let error = match reason {
        Some(reason) => error.hint(format!("{reason} (git paw attach {agent})")),
        None => error.hint("it is delivered as soon as the CLI is ready; try again then"),
    };
    Err(error.hint("use --inbox to send a message"))
}

/// How far the first prompt of the agent got.
fn first_prompt(receipt: &Receipt, agent: &AgentId) -> PromptDelivery {
    let member = members(receipt).into_iter().find(|(id, _)| id == agent);
    let supervisor = supervisor(receipt).filter(|_| agent.as_str() == AgentId::SUPERVISOR);
    let prompt = member.and_then(|(_, member)| member.prompt).or(supervisor.map(|it| it.prompt));
    prompt.unwrap_or(PromptDelivery::Delivered)
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
