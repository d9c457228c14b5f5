//! The verbs of `git paw sweep` that act on agents.

use paw_broker::message::{FeedbackMessage, Message, VerifiedMessage};
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_host::git::Git;
use paw_host::process::own_program;
use paw_screen::text::Text;
use paw_supervisor::prompt_reply::{PendingPrompt, PromptReply};
use paw_supervisor::sweep;
use serde_json::json;

use crate::context::Context;

/// Presses the key that approves an agent's prompt.
pub(super) fn approve(agent: &str, context: &Context) -> Result<(), PawError> {
    let who = context.privileged_client("approve for an agent")?.agent().clone();
    let session = context.require_session()?;
    let prompt = PendingPrompt::find(&session, agent, clock::now())?;
    prompt.reply(&session, PromptReply::Approve, &who, clock::now())?;
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": prompt.agent(), "approved": prompt.text()}));
    }
    context.output.say(&format!("approved for {}: {}", prompt.agent(), Text::line(&prompt.text()).as_str()))
}

/// Starts an agent's CLI again.
pub(super) fn restart(agent: &str, context: &Context) -> Result<(), PawError> {
    context.privileged_client("restart an agent")?;
    let lock = context.lock_session(&context.require_repo()?)?;
    let id = context.require_session()?.restart_agent(&own_program()?, agent, &lock)?;
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": id, "restarted": true}));
    }
    context.output.say(&format!("restarted {id}"))
}

pub(super) fn feedback(agent: &str, gate: &str, text: &str, context: &Context) -> Result<(), PawError> {
    let id = require(agent, context)?.0;
    let gate = gate.trim_matches(['[', ']']).trim();
    if gate.is_empty() || text.trim().is_empty() {
        return Err(PawError::SessionError(
            "gate and text must not be empty; for example: testing \"lex::numbers fails\"".to_owned(),
        ));
    }
    send(context, &id, |me| FeedbackMessage::new(id.clone(), me, vec![format!("[{gate}] {text}")]).into())
}

/// A verification counts only for the commit it names.
pub(super) fn verified(agent: &str, text: Option<&str>, context: &Context) -> Result<(), PawError> {
    let (id, git, tip) = require(agent, context)?;
    let commit = git.run(["rev-parse", "--verify", &format!("{tip}^{{commit}}")])?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    send(context, &id, |me| {
        let mut message = VerifiedMessage::by_hand(id.clone(), me);
        message.message = text.map(str::to_owned);
        message.commit = Some(commit);
        message.into()
    })
}

/// The agent, and the repository and the revision of its last commit. That of an agent on another machine was fetched before.
fn require(agent: &str, context: &Context) -> Result<(AgentId, Git, String), PawError> {
    if let Some((session, remote)) = context.find_remote(agent)? {
        return Ok((remote.agent_id, session.repo.git(), remote.branch.full_ref()));
    }
    let one = sweep::require_agent(sweep::sweep(&context.require_session()?, clock::now())?, agent)?;
    Ok((one.id, Git::at(&one.worktree), "HEAD".to_owned()))
}

fn send(context: &Context, to: &AgentId, message: impl FnOnce(AgentId) -> Message) -> Result<(), PawError> {
    let client = context.broker_client()?;
    let said = client.publish(&message(client.agent().clone()), clock::now())?;
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": to, "seq": said.seq}));
    }
    context.output.say(&format!("sent to {to}"))
}
