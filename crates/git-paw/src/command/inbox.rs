//! `git paw inbox`

use std::time::Duration;

use clap::Args;
use paw_broker::client::{BrokerClient, Inbox};
use paw_broker::{Message, StoredMessage};
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_screen::text::Text;
use paw_supervisor::sweep;
use paw_view::{Need, NeedKind};
use serde_json::{Value, json};

use crate::context::Context;

/// Read your messages
///
/// Your identity comes from the pane's environment. Reading does not remove messages; --since N shows only the messages
/// after number N. For you, not for agents, it begins with what waits for you: open questions and approvals.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw inbox
  git paw inbox --since 42 --wait 30
  git paw inbox --follow")]
pub(crate) struct InboxArgs {
    /// Show only messages after this number
    #[arg(long, default_value_t = 0)]
    pub(crate) since: u64,
    /// Wait up to this many seconds for a message
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u64,
    /// Keep printing new messages until Ctrl+C
    #[arg(long, conflicts_with_all = ["wait", "json"])]
    pub(crate) follow: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Timeout of one long-poll request.
const ROUND: Duration = Duration::from_secs(25);

pub(crate) fn run(args: &InboxArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, context)?);
    }
    let client = context.broker_client()?;
    for need in needs(&client, context)? {
        context.output.say(&need_line(&need))?;
    }
    let wait = if args.follow { ROUND } else { Duration::from_secs(args.wait) };
    let mut inbox = client.inbox(args.since, wait)?;
    if inbox.messages.is_empty() && !args.follow {
        return context.output.say(&nothing(client.agent(), args.since));
    }
    loop {
        for stored in &inbox.messages {
            context.output.say(&line(stored))?;
            for detail in details(&stored.message) {
                context.output.say(&format!("       {}", Text::line(&detail).as_str()))?;
            }
        }
        if !inbox.more && !args.follow {
            return Ok(());
        }
        inbox = client.inbox(inbox.last_seq, if inbox.more { Duration::ZERO } else { wait })?;
    }
}

fn nothing(whom: &AgentId, since: u64) -> String {
    let whom = match whom.as_str() {
        AgentId::OPERATOR => "you",
        agent => agent,
    };
    match since {
        0 => format!("no messages for {whom}"),
        since => format!("no messages for {whom} after number {since}"),
    }
}

/// The answer for programs: all messages.
pub(crate) fn answer(args: &InboxArgs, context: &Context) -> Result<Value, PawError> {
    let client = context.broker_client()?;
    let needs = needs(&client, context)?;
    let mut inbox = client.inbox(args.since, Duration::from_secs(args.wait))?;
    while inbox.more {
        let next = client.inbox(inbox.last_seq, Duration::ZERO)?;
        inbox.messages.extend(next.messages);
        (inbox.last_seq, inbox.more) = (next.last_seq, next.more);
    }
    Ok(document(&inbox, &needs))
}

/// What waits for the user. An agent has no such list.
fn needs(client: &BrokerClient, context: &Context) -> Result<Vec<Need>, PawError> {
    let session = context.find_session()?;
    let Some(session) = session.filter(|_| client.agent().as_str() == AgentId::OPERATOR) else {
        return Ok(Vec::new());
    };
    let mut view = sweep::load_view(&session, clock::now())?;
    session.add_messages(&mut view);
    // One that has exited asks for nothing.
    let asks = |need: &Need| matches!(need.kind, NeedKind::Approval | NeedKind::Answer | NeedKind::Input);
    Ok(view.needs().into_iter().filter(asks).collect())
}

fn need_line(need: &Need) -> String {
    let (agent, text) = (&need.agent_id, Text::line(&need.text));
    match need.kind {
        NeedKind::Approval => format!("open   {agent} wants: {text} (git paw approve {agent}, or deny)"),
        NeedKind::Answer => format!("open   {agent} asks: {text} (git paw say answer {agent} \"...\")"),
        _ => format!("open   {agent} waits in its pane: {text} (git paw attach {agent})"),
    }
}

/// The answer for programs: at most `limit` messages.
pub(crate) fn page(args: &InboxArgs, limit: usize, context: &Context) -> Result<Value, PawError> {
    let client = context.broker_client()?;
    let needs = needs(&client, context)?;
    let mut inbox = client.inbox(args.since, Duration::from_secs(args.wait))?;
    if let Some(last) = limit.checked_sub(1).and_then(|last| inbox.messages.get(last))
        && inbox.messages.len() > limit
    {
        (inbox.last_seq, inbox.more) = (last.seq, true);
        inbox.messages.truncate(limit);
    }
    let mut page = document(&inbox, &needs);
    page["more"] = inbox.more.into();
    Ok(page)
}

fn line(stored: &StoredMessage) -> String {
    format!("{:>5}  {}  {}", stored.seq, stored.at.strftime("%H:%M:%S"), stored.message)
}

/// The details that a message's one-line form leaves out.
fn details(message: &Message) -> Vec<String> {
    match message {
        Message::Feedback(feedback) => feedback.errors.clone(),
        Message::Intent(intent) => intent.files.iter().map(|file| file.path.clone()).collect(),
        Message::Artifact(artifact) => artifact.modified_files.clone(),
        _ => Vec::new(),
    }
}

fn document(inbox: &Inbox, needs: &[Need]) -> Value {
    let messages = inbox.messages.iter().map(|stored| {
        json!({"seq": stored.seq, "at": stored.at.to_string(), "sender": stored.sender.as_str(),
               "message": stored.message.to_json()})
    });
    let mut document = json!({"messages": messages.collect::<Vec<_>>(), "last_seq": inbox.last_seq});
    if !needs.is_empty() {
        document["needs"] = json!(needs);
    }
    document
}
