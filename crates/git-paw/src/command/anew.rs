//! What an agent's pane runs when its CLI could not take up its conversation: the agent begins anew and is told once more
//! what it is there for.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use paw_agent::hooks::Tracker;
use paw_agent::hooks::notes::Notes;
use paw_core::{AgentId, PawError, Receipt};
use paw_host::clock;
use paw_host::process::become_shell_line;
use paw_session::lifecycle::Session;
use paw_session::lifecycle::window::Seen;
use paw_session::{delivery, panes};

use crate::context::Context;

#[derive(Debug, Args)]
pub(crate) struct AnewArgs {
    agent: AgentId,
}

pub(crate) fn run(args: &AnewArgs, context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    let id = &args.agent;
    let line = find_line(&session.receipt, id)
        .ok_or_else(|| PawError::SessionError(format!("the session has no agent '{id}'")))?;
    let told = Notes::of(&session.repo.common_dir).tracker(id).unwrap_or_default();
    if has_gone_on(&told, &session.receipt, id) || lived_long(&session)? {
        // What it was at is still there; beginning anew would leave that behind.
        return Err(PawError::SessionError(format!("{id} was resumed, and its CLI has ended with an error"))
            .hint(format!("to begin a new conversation: {line}")));
    }
    context.output.note(&format!("there is no conversation to take up: {id} begins anew"));
    let lock = session.receipts.lock()?;
    let begun = session.receipts.update(&session.receipt.session_name, &lock, |receipt| {
        begin(receipt, id);
        receipt.clone()
    })?;
    drop(lock);
    let program = paw_host::process::own_program()?;
    if let Some(deliver) =
        begun.and_then(|receipt| delivery::in_background(&receipt, &session.receipts, &program))
    {
        session.tmux.run(&deliver)?;
    }
    let error = become_shell_line(&format!("exec {line}"));
    Err(PawError::internal(format!("cannot start {id} again: {error}")))
}

/// A CLI that finds no conversation ends at once. What ends later has worked, even if no hook has told of it.
const AT_ONCE: SignedDuration = SignedDuration::from_mins(1);

fn lived_long(session: &Session) -> Result<bool, PawError> {
    let seen = Seen::look(&session.tmux, &session.receipt)?;
    Ok(is_old(seen.and_then(|seen| seen.created), clock::now()))
}

fn is_old(created: Option<Timestamp>, now: Timestamp) -> bool {
    created.is_some_and(|created| now.duration_since(created) > AT_ONCE)
}

/// Whether the CLI did take the conversation up, and something else has ended it since.
fn has_gone_on(told: &Tracker, receipt: &Receipt, id: &AgentId) -> bool {
    let at = receipt.agent_ids().iter().position(|one| one == id);
    let wanted = at.and_then(|at| receipt.worktrees[at].conversation.as_deref());
    told.has_begun() || (wanted.is_some() && told.conversation() == wanted)
}

/// The line that starts an agent's CLI, or the supervisor's.
fn find_line(receipt: &Receipt, id: &AgentId) -> Option<String> {
    if let Some(supervisor) = receipt.supervisor.as_ref().filter(|_| id.as_str() == AgentId::SUPERVISOR) {
        let recorded = Some(supervisor.command.as_str()).filter(|line| !line.is_empty());
        return Some(panes::recorded_line(&supervisor.cli, recorded));
    }
    let at = receipt.agent_ids().iter().position(|one| one == id)?;
    let agent = &receipt.worktrees[at];
    Some(panes::recorded_line(&agent.cli, agent.command.as_deref()))
}

/// It is to be told its first words again, and the conversation that is gone is not looked for a second time.
fn begin(receipt: &mut Receipt, id: &AgentId) {
    if let Some(supervisor) = receipt.supervisor.as_mut().filter(|_| id.as_str() == AgentId::SUPERVISOR) {
        supervisor.conversation = None;
        supervisor.boot_prompt_problem = None;
        supervisor.pending_boot_prompt.clone_from(&supervisor.boot_prompt);
        return;
    }
    let at = receipt.agent_ids().iter().position(|one| one == id);
    if let Some(agent) = at.and_then(|at| receipt.worktrees.get_mut(at)) {
        agent.conversation = None;
        agent.boot_prompt_problem = None;
        agent.pending_boot_prompt.clone_from(&agent.boot_prompt);
    }
}

#[cfg(test)]
mod tests {
    use paw_core::{AgentReceipt, BranchName, SessionName, SupervisorReceipt};

    use super::*;

    #[test]
    fn what_ends_long_after_its_start_has_worked() {
        let now = Timestamp::from_second(1_000).unwrap();
        let at = |second| Timestamp::from_second(second).ok();
        assert!(is_old(at(900), now));
        assert!(!is_old(at(990), now) && !is_old(at(2_000), now) && !is_old(None, now));
    }

    #[test]
    fn only_the_one_that_begins_anew_is_told_again() {
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, "/app".into(), "app", Timestamp::UNIX_EPOCH);
        let supervisor =
            SupervisorReceipt { cli: "claude".into(), command: "claude --x".into(), ..Default::default() };
        receipt.supervisor = Some(supervisor);
        for branch in ["feat/a", "feat/b"] {
            let mut agent = AgentReceipt::new(BranchName::new(branch).unwrap(), "/w".into(), "my cli");
            agent.boot_prompt = Some("begin".into());
            agent.conversation = Some("c-1".into());
            receipt.worktrees.push(agent);
        }
        let id = AgentId::new("feat-b").unwrap();
        begin(&mut receipt, &id);
        assert!(!delivery::is_pending(&Receipt {
            worktrees: receipt.worktrees[..1].to_vec(),
            ..receipt.clone()
        }));
        let agent = &receipt.worktrees[1];
        assert_eq!((agent.pending_boot_prompt.as_deref(), &agent.conversation), (Some("begin"), &None));
        assert_eq!(find_line(&receipt, &id).as_deref(), Some("'my cli'"));
        assert_eq!(find_line(&receipt, &AgentId::supervisor()).as_deref(), Some("claude --x"));
        assert_eq!(find_line(&receipt, &AgentId::new("nobody").unwrap()), None);
    }
}
