//! The verbs of `git paw sweep` that do something.

use paw_agent::cli;
use paw_agent::screen::AskSubject;
use paw_agent::state::State;
use paw_broker::message::{Feedback, Message, Verified};
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_host::git::Git;
use paw_screen::text::Text;
use paw_supervisor::approval::Verdict;
use paw_supervisor::approval::log::VerdictLog;
use paw_supervisor::sweep::{self, Swept};
use paw_supervisor::tower::{press, verdict};
use serde_json::json;

use crate::context::Context;

/// Presses the one key that says yes, for somebody who has decided it.
pub(super) fn approve(agent: &str, context: &Context) -> Result<(), PawError> {
    let who = context.broker_client()?.agent().clone();
    if !matches!(who.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR) {
        return Err(PawError::SessionError(
            "an agent cannot approve: only the supervisor and you can".to_owned(),
        ));
    }
    let session = context.require_session()?;
    let one = sweep::require(sweep::sweep(&session, clock::now())?, agent)?;
    let Some(seen) = &one.seen else { return Err(PawError::SessionError(one.known.reason)) };
    let State::WaitingApproval(ask) = seen.look.read(cli::descriptor(&one.cli)).state else {
        return Err(PawError::SessionError(format!(
            "{} asks for nothing in its pane ({})",
            one.id, one.known.state
        )));
    };
    if let AskSubject::Unreadable(why) = ask.subject {
        return Err(PawError::SessionError(format!("cannot read what {} asks: {why}", one.id))
            .hint("answer it in its pane"));
    }
    if !press::is_possible(&ask) {
        return Err(PawError::SessionError(format!("the prompt of {} is not the usual one", one.id))
            .hint("answer it in its pane"));
    }
    let what = Text::line(&verdict::what(&ask)).as_str().to_owned();
    let said = Verdict::Allow { reason: format!("approved by {who}") };
    let log = VerdictLog::of(&session.repo.common_dir);
    verdict::record(&log, &session.receipt, &one.id, &ask, &said, clock::now())?;
    if !press::press(&session.tmux, &seen.pane, &one.cli, &ask)? {
        return Err(PawError::SessionError(format!(
            "{} does not ask that any more; nothing was pressed",
            one.id
        )));
    }
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": one.id, "approved": verdict::what(&ask)}));
    }
    context.output.say(&format!("approved for {}: {what}", one.id))
}

pub(super) fn feedback(agent: &str, gate: &str, text: &str, context: &Context) -> Result<(), PawError> {
    let one = require(agent, context)?;
    let gate = gate.trim_matches(['[', ']']).trim();
    if gate.is_empty() || text.trim().is_empty() {
        return Err(PawError::SessionError(
            "name the gate and what it has found: testing \"lex::numbers fails\"".to_owned(),
        ));
    }
    send(context, &one, |me| Feedback::new(one.id.clone(), me, vec![format!("[{gate}] {text}")]).into())
}

/// A check is worth only what the commit is that was checked, so it is named.
pub(super) fn verified(agent: &str, text: Option<&str>, context: &Context) -> Result<(), PawError> {
    let one = require(agent, context)?;
    let commit = Git::at(&one.worktree).run(["rev-parse", "--verify", "HEAD^{commit}"])?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    send(context, &one, |me| {
        let mut message = Verified::new(one.id.clone(), me);
        message.message = text.map(str::to_owned);
        message.commit = Some(commit);
        message.into()
    })
}

fn require(agent: &str, context: &Context) -> Result<Swept, PawError> {
    sweep::require(sweep::sweep(&context.require_session()?, clock::now())?, agent)
}

fn send(context: &Context, to: &Swept, message: impl FnOnce(AgentId) -> Message) -> Result<(), PawError> {
    let client = context.broker_client()?;
    let said = client.say(&message(client.agent().clone()), clock::now())?;
    if context.output.wants_json() {
        return context.output.document(&json!({"agent": to.id, "seq": said.seq}));
    }
    context.output.say(&format!("sent to {}", to.id))
}
