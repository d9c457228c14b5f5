//! The command of an agent's pane after its CLI failed to resume its conversation: starts a new conversation with the
//! agent's first prompt.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use paw_agent::hooks::Tracker;
use paw_agent::hooks::notes::HookNotes;
use paw_core::{AgentId, PawError, Receipt};
use paw_host::clock;
use paw_host::process::exec_shell_line;
use paw_session::lifecycle::Session;
use paw_session::lifecycle::window::TmuxWindow;
use paw_session::panes;

use crate::context::Context;

#[derive(Debug, Args)]
pub(crate) struct RestartAgentArgs {
    agent: AgentId,
}

pub(crate) fn run(args: &RestartAgentArgs, context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    let id = &args.agent;
    let line = find_line(&session.receipt, id)
        .ok_or_else(|| PawError::SessionError(format!("no agent '{id}' in this session")))?;
    let tracker = HookNotes::of(&session.repo.common_dir).tracker(id).unwrap_or_default();
    if has_resumed(&tracker, &session.receipt, id) || ran_long(&session)? {
        // The conversation still exists; a new one would lose it.
        return Err(PawError::SessionError(format!("{id} was resumed, but its CLI exited with an error"))
            .hint(format!("to start a new conversation: {line}")));
    }
    context.output.note(&format!("no conversation to resume: {id} starts a new one"));
    let lock = session.receipts.lock()?;
    session.receipts.update(&session.receipt.session_name, &lock, |receipt| reset(receipt, id))?;
    drop(lock);
    // It delivers the prompt.
    context.ensure_process(&session);
    let error = exec_shell_line(&format!("exec {line}"));
    Err(PawError::internal(format!("cannot restart {id}: {error}")))
}

/// A CLI that finds no conversation exits within this time. One that exits later has worked, even without hook events.
const QUICK_EXIT: SignedDuration = SignedDuration::from_mins(1);

fn ran_long(session: &Session) -> Result<bool, PawError> {
    let seen = TmuxWindow::find(&session.tmux, &session.receipt)?;
    Ok(is_old(seen.and_then(|seen| seen.created), clock::now()))
}

fn is_old(created: Option<Timestamp>, now: Timestamp) -> bool {
    created.is_some_and(|created| now.duration_since(created) > QUICK_EXIT)
}

/// Whether the CLI resumed its conversation before it exited.
fn has_resumed(tracker: &Tracker, receipt: &Receipt, id: &AgentId) -> bool {
    let at = receipt.agent_ids().iter().position(|one| one == id);
    let wanted = at.and_then(|at| receipt.worktrees[at].conversation.as_deref());
    tracker.has_begun() || (wanted.is_some() && tracker.conversation() == wanted)
}

/// The command line of an agent's or the supervisor's CLI.
fn find_line(receipt: &Receipt, id: &AgentId) -> Option<String> {
    if let Some(supervisor) = receipt.supervisor.as_ref().filter(|_| id.as_str() == AgentId::SUPERVISOR) {
        let recorded = Some(supervisor.command.as_str()).filter(|line| !line.is_empty());
        return Some(panes::recorded_line(&supervisor.cli, recorded));
    }
    let at = receipt.agent_ids().iter().position(|one| one == id)?;
    let agent = &receipt.worktrees[at];
    Some(panes::recorded_line(&agent.cli, agent.command.as_deref()))
}

/// Queues the agent's first prompt again and forgets the missing conversation.
fn reset(receipt: &mut Receipt, id: &AgentId) {
    if let Some(supervisor) = receipt.supervisor.as_mut().filter(|_| id.as_str() == AgentId::SUPERVISOR) {
        supervisor.conversation = None;
        supervisor.queue_boot_prompt();
        return;
    }
    let at = receipt.agent_ids().iter().position(|one| one == id);
    if let Some(agent) = at.and_then(|at| receipt.worktrees.get_mut(at)) {
        agent.conversation = None;
        agent.queue_boot_prompt();
    }
}

#[cfg(test)]
mod tests {
    use paw_core::{AgentReceipt, BranchName, SessionName, SupervisorReceipt};

    use super::*;

    #[test]
    fn a_cli_that_exits_late_counts_as_resumed() {
        let now = Timestamp::from_second(1_000).unwrap();
        let at = |second| Timestamp::from_second(second).ok();
        assert!(is_old(at(900), now));
        assert!(!is_old(at(990), now) && !is_old(at(2_000), now) && !is_old(None, now));
    }

    #[test]
    fn restart_queues_the_first_prompt_of_only_that_agent() {
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
        reset(&mut receipt, &id);
        assert_eq!(receipt.worktrees[0].pending_boot_prompt, None);
        let agent = &receipt.worktrees[1];
        assert_eq!((agent.pending_boot_prompt.as_deref(), &agent.conversation), (Some("begin"), &None));
        assert_eq!(find_line(&receipt, &id).as_deref(), Some("'my cli'"));
        assert_eq!(find_line(&receipt, &AgentId::supervisor()).as_deref(), Some("claude --x"));
        assert_eq!(find_line(&receipt, &AgentId::new("unknown").unwrap()), None);
    }
}
