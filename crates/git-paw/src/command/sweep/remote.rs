//! `git paw sweep` for agents on other machines. In the supervisor's pane, the session's process does it, because panes do not
//! use the user's ssh keys.

use std::process::ExitCode;

use paw_cluster::hub;
use paw_core::{AgentId, PawError, text};
use paw_host::caller::CommandCaller;
use paw_supervisor::pane_request::{SweepAction, SweepRequest};
use serde_json::Value;

use crate::context::Context;
use crate::session_run::RequesterArgs;

/// Does it on the machine of the agent. `None` if that is this one.
pub(super) fn find(
    sweep: SweepAction,
    name: &str,
    requester: &RequesterArgs,
    context: &Context,
) -> Result<Option<ExitCode>, PawError> {
    let Some((session, agent)) = context.find_remote(name)? else { return Ok(None) };
    let (id, json) = (agent.agent_id.as_str(), context.output.wants_json());
    if !context.caller()?.is_user() {
        return context.run_request(&SweepRequest { sweep, agent: Some(id.to_owned()), json }).map(Some);
    }
    let forward = |args: &[&str]| {
        let json = json.then_some("--json");
        let args: Vec<_> = ["sweep"].into_iter().chain(args.iter().copied()).chain(json).collect();
        context.forward(&session.receipt, &agent.host, &args).map(Some)
    };
    match sweep {
        SweepAction::Capture { lines } => forward(&["capture", id, "--lines", &lines.to_string()]),
        SweepAction::Restart => forward(&["restart", id]),
        SweepAction::Approve => {
            let by = requester.agent().unwrap_or_else(AgentId::operator);
            let host = hub::require_host(&session.repo, session.receipt.cluster.as_ref(), &agent.host)?;
            let answer: Value = host.ask(&["__host", "approve", id, "--by", by.as_str()], &())?;
            if json {
                context.output.document(&answer)?;
            } else {
                let what = text::line(answer["approved"].as_str().unwrap_or_default());
                context.output.say(&format!("approved for {id} on {}: {what}", agent.host))?;
            }
            Ok(Some(ExitCode::SUCCESS))
        }
        SweepAction::Snapshot { .. }
        | SweepAction::Status
        | SweepAction::Worktrees
        | SweepAction::DetectStuck => Ok(None),
    }
}

/// Lists the agents of all machines for the supervisor. `None` if this process may do it, or the agent may not: it then gets the
/// agents of this machine.
pub(super) fn list(sweep: SweepAction, context: &Context) -> Result<Option<ExitCode>, PawError> {
    let is_supervisor = match context.caller()? {
        CommandCaller::User => return Ok(None),
        CommandCaller::Agent(agent) => agent.id == Some(AgentId::supervisor()),
    };
    let session = context.require_session()?;
    if !is_supervisor || session.receipt.remote_agents().is_empty() {
        return Ok(None);
    }
    context.run_request(&SweepRequest { sweep, agent: None, json: context.output.wants_json() }).map(Some)
}
