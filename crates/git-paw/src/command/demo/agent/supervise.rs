//! The scripted supervisor: runs the commands of the supervisor's skill.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use paw_broker::Message;
use paw_core::{AgentId, PawError};
use paw_host::process::{Command, Exit};
use paw_supervisor::merge::{MergeMember, members_of};

use super::work::say;
use crate::context::Context;
use crate::output::Style;

/// Verifies every commit, sends failures back, and merges when all agents are verified.
pub(super) fn run(pace_ms: u64, context: &Context) -> Result<(), PawError> {
    let members = members_of(&context.require_session()?.receipt);
    let mut verified = BTreeSet::new();
    let mut outcome = Ok(());
    context.broker_client()?.follow(0, |inbox| {
        for stored in &inbox.messages {
            outcome = match &stored.message {
                Message::VerifyNow(nudge) => {
                    verify(&nudge.branch_id, &members, pace_ms, context).map(|passes| {
                        if passes {
                            verified.insert(nudge.branch_id.clone());
                        }
                    })
                }
                Message::Question(asked) => {
                    say(Style::Warning, &format!("for the user: {}", asked.question), pace_ms, context)
                }
                _ => Ok(()),
            };
            if outcome.is_err() || verified.len() == members.len() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    outcome?;
    say(Style::Bold, "all agents are verified: git paw merge --rebase", pace_ms, context)?;
    paw(&["merge", "--rebase"], context)?;
    paw(&["say", "status", "done", "--phase", "summary", "--message", "everything is merged"], context)
        .map(drop)
}

/// Runs the gates. If they fail, asks the agent to read its inbox. Returns whether they passed.
fn verify(
    agent: &AgentId,
    members: &[MergeMember],
    pace_ms: u64,
    context: &Context,
) -> Result<bool, PawError> {
    let Some(member) = members.iter().find(|member| member.agent == *agent) else { return Ok(false) };
    say(Style::Bold, &format!("git paw verify {}", member.branch), pace_ms, context)?;
    if paw(&["verify", member.branch.as_str()], context)? {
        return Ok(true);
    }
    let text = "Your gates fail. Read your inbox and fix the errors.";
    paw(&["tell", agent.as_str(), "--now", text], context)?;
    Ok(false)
}

/// Runs a git paw command and prints its output. Returns whether it succeeded.
fn paw(args: &[&str], context: &Context) -> Result<bool, PawError> {
    let program = paw_host::process::own_program()?;
    let mut lines = Vec::new();
    let ran = Command::new(program).args(args.iter().copied()).dir(&context.cwd).stream(|_, line| {
        lines.push(String::from_utf8_lossy(line).into_owned());
    });
    let exit = ran?;
    lines.iter().try_for_each(|line| context.output.say(&format!("  {line}")))?;
    Ok(exit == Exit::Code(0))
}
