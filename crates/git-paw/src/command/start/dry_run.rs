//! `git paw start --dry-run`: prints the plan without doing anything.

use std::path::Path;

use paw_core::{AgentId, PawError, Receipt, SessionMode, SessionStatus};
use paw_host::clock;
use paw_host::process::own_program;
use paw_session::lifecycle::Session;
use paw_session::panes::{ConversationMode, PaneBuilder, REDACTED, SessionWindow};
use paw_session::plan::SessionPlan;
use paw_session::recover::RunningSessions;

use super::{StartArgs, StartContext, config, make_plan, note_ignored_flags};
use crate::context::Context;

/// Prints what a start would do with the existing session or with a new one.
pub(super) fn run(args: &StartArgs, site: &StartContext, context: &Context) -> Result<(), PawError> {
    if let Some(session) = Session::find(&site.repo, &site.receipts)? {
        if !args.is_for_a_new_session() {
            return existing(&session.receipt, session.state()?.0, context);
        }
        note_ignored_flags(&session, context);
    }
    let config = config(args, site, context)?;
    let planned = make_plan(args, site, &config, &RunningSessions::default(), context)?;
    plan(&planned, args.wants_specs(), context)
}

/// Prints the plan and the tmux commands, without tokens.
fn plan(plan: &SessionPlan, from_specs: bool, context: &Context) -> Result<(), PawError> {
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
    let program = own_program()?;
    let token = |_: &AgentId| plan.broker.as_ref().map(|_| REDACTED.to_owned());
    let making =
        PaneBuilder { program: &program, token: &token, conversation: ConversationMode::New, fresh: &[] };
    let window = SessionWindow::of(&plan.receipt(clock::now()), making)?;
    window.batch().commands().iter().try_for_each(|command| say(&format!("  {command}")))
}

/// Prints what a start would do with the existing session.
fn existing(receipt: &Receipt, status: SessionStatus, context: &Context) -> Result<(), PawError> {
    let (is, would) = match status {
        SessionStatus::Active => ("is running", "attach to it"),
        SessionStatus::Paused => ("is paused", "resume it"),
        SessionStatus::Stopped => ("is stopped", "rebuild it"),
    };
    let name = &receipt.session_name;
    context.output.say(&format!("Dry run — session '{name}' {is}: a start would {would}."))?;
    receipt
        .worktrees
        .iter()
        .try_for_each(|agent| context.output.say(&format!("  {} → {}", agent.branch, agent.cli)))
}

/// A path relative to the repository: `../app-feat-a`, or a path inside it.
fn below_parent(dir: &Path, root: &Path) -> String {
    match (dir.strip_prefix(root), root.parent().map(|parent| dir.strip_prefix(parent))) {
        (Ok(inside), _) => inside.display().to_string(),
        (_, Some(Ok(relative))) => format!("../{}", relative.display()),
        _ => dir.display().to_string(),
    }
}
