//! `git paw start --dry-run`: prints the plan without doing anything.

use std::path::Path;

use paw_core::config::{Approval, PawConfig};
use paw_core::{AgentId, PawError, Receipt, SessionMode, SessionStatus};
use paw_host::clock;
use paw_host::process::own_program;
use paw_session::lifecycle::Session;
use paw_session::panes::{ConversationMode, PaneBuilder, REDACTED, SessionWindow};
use paw_session::plan::SessionPlan;
use paw_session::recover::RunningSessions;

use super::{PlannedStart, StartArgs, StartContext, config, make_plan, note_ignored_flags};
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
    match make_plan(args, site, &config, &RunningSessions::default(), context)? {
        Some(PlannedStart { plan: planned, remote }) => {
            plan(&planned, args.wants_specs(), &config, context)?;
            remote.iter().try_for_each(|agent| {
                let host = agent.host.as_ref().map(ToString::to_string).unwrap_or_default();
                context.output.say(&format!("on {host}: {} → {}", agent.branch, agent.cli))
            })
        }
        None => Ok(()),
    }
}

/// What a person wants to know before anything starts: a name and a value per line.
fn summary(plan: &SessionPlan, config: &PawConfig) -> [(&'static str, String); 5] {
    let supervisor = config.supervisor.clone().unwrap_or_default();
    let attended = plan.supervisor.is_some() || plan.unattended;
    let mut clis: Vec<_> = plan.agents.iter().map(|agent| agent.cli.as_str()).collect();
    clis.sort_unstable();
    clis.dedup();
    [
        ("session", plan.session.to_string()),
        (
            "supervisor",
            match &plan.supervisor {
                Some(supervisor) => supervisor.cli.clone(),
                None if plan.unattended => "none: this command takes its role".to_owned(),
                None => "none".to_owned(),
            },
        ),
        ("CLI", clis.join(", ")),
        (
            "approval",
            if attended {
                supervisor.agent_approval.to_string()
            } else {
                format!("{}: agents ask in their panes", Approval::Manual)
            },
        ),
        (
            "messages",
            match &plan.broker {
                Some(broker) => format!("http://{}:{} (or the next free port)", broker.bind, broker.port),
                None => "off".to_owned(),
            },
        ),
    ]
}

/// Prints the plan and the tmux commands, without tokens.
fn plan(plan: &SessionPlan, from_specs: bool, config: &PawConfig, context: &Context) -> Result<(), PawError> {
    let say = |line: &str| context.output.say(line);
    say(match (plan.mode(), from_specs) {
        (SessionMode::Supervisor, _) => "Dry run — supervisor session plan:",
        (SessionMode::Bare, true) => "Dry run — session plan (from specs):",
        (SessionMode::Bare, false) => "Dry run — session plan:",
    })?;
    for (name, value) in summary(plan, config) {
        say(&format!("  {name:<11} {value}"))?;
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
