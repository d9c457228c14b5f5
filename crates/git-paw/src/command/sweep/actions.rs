//! The verbs of `git paw sweep` that act on agents.

use paw_agent::cli;
use paw_agent::screen::ApprovalSubject;
use paw_agent::state::AgentActivity;
use paw_broker::message::{FeedbackMessage, Message, VerifiedMessage};
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_host::git::Git;
use paw_screen::text::Text;
use paw_supervisor::approval::ApprovalVerdict;
use paw_supervisor::approval::log::VerdictLog;
use paw_supervisor::monitor::{press, verdict};
use paw_supervisor::sweep::{self, AgentSnapshot};
use serde_json::json;

use crate::context::Context;

/// Presses the key that approves an agent's prompt.
pub(super) fn approve(agent: &str, context: &Context) -> Result<(), PawError> {
    let who = context.privileged_client("approve for an agent")?.agent().clone();
    let session = context.require_session()?;
    let one = sweep::require_agent(sweep::sweep(&session, clock::now())?, agent)?;
    if one.id == who {
        return Err(PawError::SessionError(format!("{who} cannot approve for itself")));
    }
    let Some(pane) = &one.pane else { return Err(PawError::SessionError(one.known.reason)) };
    let AgentActivity::WaitingApproval(ask) = pane.look.read(cli::descriptor(&one.cli)).state else {
        return Err(PawError::SessionError(match &one.known.state {
            AgentActivity::WaitingApproval(_) => {
                format!("cannot read {}'s prompt; the pane may be too narrow", one.id)
            }
            state => format!("{} is not waiting for an approval ({state})", one.id),
        }));
    };
    if let ApprovalSubject::Unreadable(why) = ask.subject {
        return Err(PawError::SessionError(format!("cannot read the prompt of {}: {why}", one.id))
            .hint("answer it in the agent's pane"));
    }
    if !press::has_approval_keys(&ask) {
        return Err(PawError::SessionError(format!("the prompt of {} is not a known one", one.id))
            .hint("answer it in the agent's pane"));
    }
    let what = Text::line(&verdict::describe(&ask)).as_str().to_owned();
    let said = ApprovalVerdict::Allow { reason: format!("approved by {who}") };
    let log = VerdictLog::of(&session.repo.common_dir);
    verdict::record(&log, &session.receipt, &one.id, &ask, &said, clock::now())?;
    if !press::press_approval_keys(&session.tmux, &pane.id, &one.cli, &ask)? {
        return Err(PawError::SessionError(format!(
            "the prompt of {} has changed; no key was pressed",
            one.id
        )));
    }
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": one.id, "approved": verdict::describe(&ask)}));
    }
    context.output.say(&format!("approved for {}: {what}", one.id))
}

pub(super) fn feedback(agent: &str, gate: &str, text: &str, context: &Context) -> Result<(), PawError> {
    let one = require(agent, context)?;
    let gate = gate.trim_matches(['[', ']']).trim();
    if gate.is_empty() || text.trim().is_empty() {
        return Err(PawError::SessionError(
            "gate and text must not be empty; for example: testing \"lex::numbers fails\"".to_owned(),
        ));
    }
    send(context, &one, |me| {
        FeedbackMessage::new(one.id.clone(), me, vec![format!("[{gate}] {text}")]).into()
    })
}

/// A verification counts only for the commit it names.
pub(super) fn verified(agent: &str, text: Option<&str>, context: &Context) -> Result<(), PawError> {
    let one = require(agent, context)?;
    let commit = Git::at(&one.worktree).run(["rev-parse", "--verify", "HEAD^{commit}"])?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    send(context, &one, |me| {
        let mut message = VerifiedMessage::new(one.id.clone(), me);
        message.message = text.map(str::to_owned);
        message.commit = Some(commit);
        message.into()
    })
}

fn require(agent: &str, context: &Context) -> Result<AgentSnapshot, PawError> {
    sweep::require_agent(sweep::sweep(&context.require_session()?, clock::now())?, agent)
}

fn send(
    context: &Context,
    to: &AgentSnapshot,
    message: impl FnOnce(AgentId) -> Message,
) -> Result<(), PawError> {
    let client = context.broker_client()?;
    let said = client.publish(&message(client.agent().clone()), clock::now())?;
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": to.id, "seq": said.seq}));
    }
    context.output.say(&format!("sent to {}", to.id))
}
