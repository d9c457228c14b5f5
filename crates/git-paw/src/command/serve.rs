//! `git paw serve`

use clap::Args;
use paw_core::PawError;
use paw_core::text::plural;
use paw_runtime::SessionProcess;

use crate::context::Context;

/// Run the message broker without a dashboard
///
/// Delivers the agents' messages, watches the worktrees of this repository and warns agents about conflicts. To see it, run
/// `git paw dashboard` in any terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw serve &
  git paw dashboard")]
pub(crate) struct ServeArgs {}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let session = SessionProcess::start(&context.session_settings()?)?;
    let watched = plural(session.watched(), "worktree");
    context.output.note(&format!("broker at {}, watching {watched} (Ctrl+C to stop)", session.url()));
    session.runtime().block_on(session.ended());
    session.stop();
    Ok(())
}
