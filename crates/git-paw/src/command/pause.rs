//! `git paw pause`

use clap::Args;
use paw_core::PawError;
use paw_session::lifecycle::pause::PauseResult;

use crate::context::Context;

/// Pause the session (detaches client, stops broker, leaves CLIs running)
///
/// The AI CLIs remain running in their panes and keep working, so their RAM stays held. Messages that they send in the
/// meantime are stored. `git paw start` resumes the session.
///
/// To release the RAM use `git paw stop`, which ends the CLIs and keeps the worktrees. (There is no `hibernate` command
/// yet that frees the RAM and keeps the CLIs.)
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw pause\n  git paw start      (resumes it)")]
pub(crate) struct PauseArgs {}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let Some(session) = context.find_session()? else {
        return context.output.say("No active session for this repo.");
    };
    let _lock = context.lock_session(&session.repo)?;
    let Some(session) = session.reload()? else {
        return context.output.say("No active session for this repo.");
    };
    let name = &session.receipt.session_name;
    context.on_all_hosts(&session.receipt, &["pause"])?;
    match session.pause()? {
        PauseResult::Now => {
            context.output.say(&format!("Session '{name}' paused. Resume with: git paw start"))
        }
        PauseResult::Already => context.output.say(&format!("Session '{name}' is already paused.")),
        PauseResult::NotRunning => context.output.say("No active session for this repo."),
    }
}
