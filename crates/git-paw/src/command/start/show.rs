//! The output of a start.

use std::io::{self, IsTerminal as _};

use paw_core::{PawError, Receipt, SessionMode};
use paw_host::tmux::{Tmux, TmuxSession, session_target};
use paw_session::recover::RunningSessions;

use crate::context::Context;
use crate::session::attach_command;

/// What a start did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartOutcome {
    Launched,
    Running,
    Resumed,
    Rebuilt,
}

/// Attaches on a terminal; otherwise prints how to attach.
pub(super) fn session(
    tmux: &Tmux,
    receipt: &Receipt,
    state: StartOutcome,
    context: &Context,
) -> Result<(), PawError> {
    let name = &receipt.session_name;
    let supervised = receipt.mode == SessionMode::Supervisor && state == StartOutcome::Launched;
    if supervised {
        let agents = receipt.worktrees.len();
        context
            .output
            .say(&format!("Supervisor session '{name}' launched with {agents} coding agent(s)."))?;
    }
    // Output may be redirected.
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        let running = RunningSessions::load(tmux)?;
        let target = running.find(receipt).map_or_else(|| session_target(name), TmuxSession::target);
        return Ok(tmux.attach_target(&target)?);
    }
    let what = match state {
        StartOutcome::Launched => "started in detached mode",
        StartOutcome::Running => "is running",
        StartOutcome::Resumed => "was resumed",
        StartOutcome::Rebuilt => "was rebuilt",
    };
    context.output.say(&format!("Session '{name}' {what}."))?;
    if supervised {
        context.output.say("Supervisor mode requires an interactive terminal: attach to talk to it.")?;
    }
    context.output.say(&format!("Attach with: {}", attach_command(receipt)))
}
