//! `git paw serve`

use clap::Args;
use paw_core::PawError;
use paw_core::text::plural;
use paw_runtime::SessionProcess;

use crate::context::Context;

/// Run the message broker without a screen
///
/// Carries the agents' messages, watches every worktree of this repository and warns agents before they collide. `git
/// paw dashboard` shows it from any terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw serve &
  git paw dashboard")]
pub(crate) struct ServeArgs {}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let session = SessionProcess::start(context.session_settings()?)?;
    let watched = plural(session.members().len(), "worktree");
    context.output.note(&format!("broker at {}, watching {watched} (Ctrl+C stops it)", session.url()));
    session.runtime().block_on(session.ended());
    session.stop();
    Ok(())
}
