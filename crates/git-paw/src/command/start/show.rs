//! What a start says: where the session is.

use std::io::{self, IsTerminal as _};

use paw_core::{PawError, Receipt, SessionMode};
use paw_host::tmux::Tmux;

use crate::context::Context;
use crate::session::attach_command;

/// How a session came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Launched,
    Running,
    Resumed,
    BuiltAgain,
}

/// Puts the person at the terminal into the session, or says where it is.
pub(super) fn session(
    tmux: &Tmux,
    receipt: &Receipt,
    state: State,
    context: &Context,
) -> Result<(), PawError> {
    let name = &receipt.session_name;
    let supervised = receipt.mode == SessionMode::Supervisor && state == State::Launched;
    if supervised {
        let agents = receipt.worktrees.len();
        context
            .output
            .say(&format!("Supervisor session '{name}' launched with {agents} coding agent(s)."))?;
    }
    // What is said may go elsewhere.
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(tmux.attach(name)?);
    }
    let what = match state {
        State::Launched => "started in detached mode",
        State::Running => "is running",
        State::Resumed => "was resumed",
        State::BuiltAgain => "was built again",
    };
    context.output.say(&format!("Session '{name}' {what}."))?;
    if supervised {
        context.output.say("Supervisor mode requires an interactive terminal: attach to talk to it.")?;
    }
    context.output.say(&format!("Attach with: {}", attach_command(receipt)))
}
