//! What a start says: its plan, or where the session is.

use std::path::Path;

use paw_core::{AgentId, PawError, Receipt, SessionMode};
use paw_host::clock;
use paw_host::tmux::Tmux;
use paw_session::panes::{Conversation, Making, REDACTED, Window};
use paw_session::plan::Plan;

use crate::context::Context;
use crate::prompt::{Prompter as _, TerminalPrompter};

/// The plan and the tmux commands, tokens left out. Nothing was touched for them.
pub(super) fn dry_run(plan: &Plan, from_specs: bool, context: &Context) -> Result<(), PawError> {
    let say = |line: &str| context.output.say(line);
    say(match (plan.mode(), from_specs) {
        (SessionMode::Supervisor, _) => "Dry run — supervisor session plan:",
        (SessionMode::Bare, true) => "Dry run — session plan (from specs):",
        (SessionMode::Bare, false) => "Dry run — session plan:",
    })?;
    say(&format!("  session {}", plan.session))?;
    if let Some(supervisor) = &plan.supervisor {
        say(&format!("  supervisor → {}", supervisor.cli))?;
    }
    for agent in &plan.agents {
        let dir = below_parent(&agent.dir, &plan.repo.root);
        say(&format!("  {} → {} ({dir})", agent.branch, agent.cli))?;
    }
    say("")?;
    let program = std::env::current_exe().map_err(|error| PawError::IoError(error.to_string()))?;
    let token = |_: &AgentId| plan.broker.as_ref().map(|_| REDACTED.to_owned());
    let making = Making { program: &program, token: &token, conversation: Conversation::New, fresh: &[] };
    let window = Window::of(&plan.receipt(clock::now()), making)?;
    window.batch().commands().iter().try_for_each(|command| say(&format!("  {command}")))
}

/// As seen from the repository: `../app-feat-a`, or the path inside it.
fn below_parent(dir: &Path, root: &Path) -> String {
    match (dir.strip_prefix(root), root.parent().map(|parent| dir.strip_prefix(parent))) {
        (Ok(inside), _) => inside.display().to_string(),
        (_, Some(Ok(beside))) => format!("../{}", beside.display()),
        _ => dir.display().to_string(),
    }
}

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
    if TerminalPrompter.is_interactive() {
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
    say_how_to_attach(receipt, context)
}

fn say_how_to_attach(receipt: &Receipt, context: &Context) -> Result<(), PawError> {
    let socket = receipt.tmux_socket.as_ref().map(|socket| format!(" -L {socket}")).unwrap_or_default();
    context.output.say(&format!("Attach with: tmux{socket} attach -t {}", receipt.session_name))
}
