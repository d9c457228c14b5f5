//! `git paw attach`

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::PawError;

use crate::context::Context;
use crate::session::attach_command;

/// Attach to the running session of this repository
///
/// Inside tmux this switches to the session. To bring back a paused or stopped session, use `git paw start`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw attach")]
pub(crate) struct AttachArgs {}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    if !io::stdin().is_terminal() {
        return Err(PawError::SessionError("cannot attach: stdin is not a terminal".to_owned())
            .hint(attach_command(&session.receipt)));
    }
    Ok(session.attach()?)
}
