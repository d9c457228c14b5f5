//! `git paw start --dry-run`: what would be done, and nothing done.

use std::path::Path;

use paw_core::{AgentId, PawError, Receipt, SessionMode, SessionStatus};
use paw_host::clock;
use paw_session::lifecycle::Session;
use paw_session::panes::{Conversation, Making, REDACTED, Window};
use paw_session::plan::Plan;
use paw_session::recover::Living;

use super::{StartArgs, Surroundings, config, make_plan, say_whom_flags_are_for};
use crate::context::Context;

/// Says what a start would do: with the session that is there, and what a new one would be.
pub(super) fn run(args: &StartArgs, site: &Surroundings, context: &Context) -> Result<(), PawError> {
    if let Some(session) = Session::find(&site.repo, &site.receipts)? {
        if !args.is_for_a_new_session() {
            return existing(&session.receipt, session.state()?.0, context);
        }
        say_whom_flags_are_for(&session, context);
    }
    let config = config(args, site, context)?;
    let planned = make_plan(args, site, &config, &Living::default(), context)?;
    plan(&planned, args.wants_specs(), context)
}

/// The plan and the tmux commands, tokens left out. Nothing was touched for them.
fn plan(plan: &Plan, from_specs: bool, context: &Context) -> Result<(), PawError> {
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
    let program = Context::program()?;
    let token = |_: &AgentId| plan.broker.as_ref().map(|_| REDACTED.to_owned());
    let making = Making { program: &program, token: &token, conversation: Conversation::New, fresh: &[] };
    let window = Window::of(&plan.receipt(clock::now()), making)?;
    window.batch().commands().iter().try_for_each(|command| say(&format!("  {command}")))
}

/// What a start would do with the session that is there already.
fn existing(receipt: &Receipt, status: SessionStatus, context: &Context) -> Result<(), PawError> {
    let (is, would) = match status {
        SessionStatus::Active => ("is running", "attach to it"),
        SessionStatus::Paused => ("is paused", "resume it"),
        SessionStatus::Stopped => ("is stopped", "build it again"),
    };
    let name = &receipt.session_name;
    context.output.say(&format!("Dry run — session '{name}' {is}: a start would {would}."))?;
    receipt
        .worktrees
        .iter()
        .try_for_each(|agent| context.output.say(&format!("  {} → {}", agent.branch, agent.cli)))
}

/// As seen from the repository: `../app-feat-a`, or the path inside it.
fn below_parent(dir: &Path, root: &Path) -> String {
    match (dir.strip_prefix(root), root.parent().map(|parent| dir.strip_prefix(parent))) {
        (Ok(inside), _) => inside.display().to_string(),
        (_, Some(Ok(beside))) => format!("../{}", beside.display()),
        _ => dir.display().to_string(),
    }
}
