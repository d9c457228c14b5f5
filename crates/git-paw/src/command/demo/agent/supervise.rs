//! The scripted supervisor: it does what the supervisor's skill says, with the very commands that stand there.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use paw_broker::Message;
use paw_core::{AgentId, PawError};
use paw_host::process::{Command, Exit};
use paw_supervisor::merge::{Member, members_of};

use super::work::say;
use crate::context::Context;
use crate::output::Style;

/// Checks every commit, has what fails mended, and merges when everybody is verified.
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
                    say(Style::Doubtful, &format!("for a person: {}", asked.question), pace_ms, context)
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
    say(Style::Bold, "everybody is verified: git paw merge --rebase", pace_ms, context)?;
    paw(&["merge", "--rebase"], context)?;
    paw(&["say", "status", "done", "--phase", "summary", "--message", "everything is merged"], context)
        .map(drop)
}

/// Whether the gates pass. An agent whose gates fail is told to look into its inbox.
fn verify(agent: &AgentId, members: &[Member], pace_ms: u64, context: &Context) -> Result<bool, PawError> {
    let Some(member) = members.iter().find(|member| member.agent == *agent) else { return Ok(false) };
    say(Style::Bold, &format!("git paw verify {}", member.branch), pace_ms, context)?;
    if paw(&["verify", member.branch.as_str()], context)? {
        return Ok(true);
    }
    let text = "Your gates fail. Read your inbox and mend what it says.";
    paw(&["tell", agent.as_str(), "--now", text], context)?;
    Ok(false)
}

/// A command of ours, whose lines are shown in the pane. Says whether it succeeded.
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
