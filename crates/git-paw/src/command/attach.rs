//! `git paw attach`

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::PawError;

use crate::context::Context;
use crate::session::attach_command;

/// Attach to the running session of this repository
///
/// Inside tmux this switches to the session. With an agent, its pane is shown zoomed (prefix z shows all panes again); an agent
/// on another machine is shown over ssh. To bring back a paused or stopped session, use `git paw start`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw attach\n  git paw attach feat/auth")]
pub(crate) struct AttachArgs {
    /// The agent to show, by its branch, id or a unique prefix, or "supervisor"
    agent: Option<String>,
}

pub(crate) fn run(args: &AttachArgs, context: &Context) -> Result<(), PawError> {
    if let Some(name) = &args.agent
        && let Some((session, agent)) = context.find_remote(name)?
    {
        if !io::stdin().is_terminal() {
            return Err(PawError::SessionError("cannot attach: stdin is not a terminal".to_owned()));
        }
        return context.forward_checked(&session.receipt, &agent.host, &["attach", agent.agent_id.as_str()]);
    }
    let session = context.require_session()?;
    let agent = args.agent.as_ref().map(|name| session.receipt.find_id(name)).transpose()?;
    if !io::stdin().is_terminal() {
        return Err(PawError::SessionError("cannot attach: stdin is not a terminal".to_owned())
            .hint(attach_command(&session.receipt)));
    }
    match agent {
        Some(id) => Ok(session.attach_to(&id)?),
        None => Ok(session.attach()?),
    }
}
