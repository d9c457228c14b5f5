//! `git paw pause`

use clap::Args;
use paw_core::PawError;
use paw_session::launch;
use paw_session::lifecycle::pause::Paused;

use crate::context::Context;

/// Pause the session (detaches client, stops broker, leaves CLIs running)
///
/// The AI CLIs remain running in their panes and go on with what they are doing, so their RAM stays held. Messages
/// that they send meanwhile are kept. `git paw start` resumes the session.
///
/// To release the RAM use `git paw stop`, which ends the CLIs and keeps the worktrees. (A `hibernate` that would free
/// the RAM and keep the CLIs does not exist yet.)
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw pause\n  git paw start      (resumes it)")]
pub(crate) struct PauseArgs {}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let Some(session) = context.find_session()? else {
        return context.output.say("No active session for this repo.");
    };
    let _lock = launch::lock(&session.repo)?;
    let Some(session) = session.reload()? else {
        return context.output.say("No active session for this repo.");
    };
    let name = &session.receipt.session_name;
    match session.pause()? {
        Paused::Now => context.output.say(&format!("Session '{name}' paused. Resume with: git paw start")),
        Paused::Already => context.output.say(&format!("Session '{name}' is paused already.")),
        Paused::NotRunning => context.output.say("No active session for this repo."),
    }
}
