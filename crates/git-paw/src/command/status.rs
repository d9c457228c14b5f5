//! `git paw status`

use std::collections::BTreeSet;

use clap::Args;
use paw_core::paths::PawDir;
use paw_core::{PawError, SessionStatus, text};
use paw_host::clock;
use paw_screen::text::Text;
use paw_session::lifecycle::Session;
use paw_supervisor::{proof, sweep};
use paw_view::{AgentView, CliState, PromptDelivery, SessionView, TipVerification};
use serde_json::{Value, json};

use crate::context::Context;
use crate::output::{Style, to_json};
use crate::session::describe_process;

/// Show the session of this repository: broker, agents and worktrees
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw status\n  git paw status --json")]
pub(crate) struct StatusArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(context)?);
    }
    match find(context)? {
        Some(session) => {
            let mut view = load_view(&session)?;
            // Only messages say what agents on other machines do.
            if !session.receipt.remote_agents().is_empty() {
                session.add_messages(&mut view);
            }
            // Nothing is proven before the first proof.
            if PawDir::of(&session.repo.common_dir).proofs().is_dir() {
                proof::add_uncompared_tips(&mut view, &session.repo, &context.dirs);
            }
            show(&view, context)
        }
        None => context.output.say("No session for this repo."),
    }
}

/// The answer for programs.
pub(crate) fn answer(context: &Context) -> Result<Value, PawError> {
    let Some(session) = find(context)? else { return Ok(json!({"session": null})) };
    let mut view = load_view(&session)?;
    session.add_messages(&mut view);
    proof::add_tips(&mut view, &session.repo, &context.dirs);
    document(view)
}

/// The session with the state of its agents. The session's process notes the states at the panes, so nothing else has to be
/// read; without it, the panes themselves are.
fn load_view(session: &Session) -> Result<SessionView, PawError> {
    let view = session.view()?;
    let has_pane = |agent: &AgentView| agent.member.as_ref().is_some_and(|member| member.pane.is_some());
    if view.agents.iter().all(|agent| agent.observed.is_some() || !has_pane(agent)) {
        return Ok(view);
    }
    sweep::load_view(session, clock::now())
}

/// The view with its agents as `worktrees`, the name that scripts use.
fn document(mut view: SessionView) -> Result<Value, PawError> {
    let needs = view.needs();
    let agents = std::mem::take(&mut view.agents);
    let mut document = to_json(&view)?;
    if let Some(fields) = document.as_object_mut() {
        for field in ["agents", "messages", "max_messages", "recorded_seq"] {
            fields.shift_remove(field);
        }
    }
    let members: Vec<_> = agents.into_iter().filter(|agent| agent.member.is_some()).collect();
    let mut worktrees = Vec::new();
    for member in &members {
        let mut worktree = to_json(member)?;
        worktree["verification"] = to_json(&member.verification())?;
        worktrees.push(worktree);
    }
    document["worktrees"] = worktrees.into();
    document["needs"] = to_json(&needs)?;
    Ok(document)
}

fn find(context: &Context) -> Result<Option<Session>, PawError> {
    let at_a_glance = Session::find_without_git(&context.cwd, &context.receipts())?;
    let session = if at_a_glance.is_some() { at_a_glance } else { context.find_session()? };
    if session.is_none() {
        warn_of_unreadable(context)?;
    }
    Ok(session)
}

/// Warns about unreadable receipts: one of them may belong to this repository.
fn warn_of_unreadable(context: &Context) -> Result<(), PawError> {
    for file in context.receipts().all()?.unreadable {
        context.output.warn(&format!("cannot use {}: {}", file.path.display(), file.problem));
    }
    Ok(())
}

fn show(view: &SessionView, context: &Context) -> Result<(), PawError> {
    let say = |line: &str| context.output.say(line);
    let facts = &view.session;
    let status = facts.status.unwrap_or(SessionStatus::Stopped);
    let painted = context.output.paint(style(status), &status.to_string());
    let died = facts.recorded.is_some_and(|recorded| recorded != status);
    let died = if died { " (restore it with 'git paw start')" } else { "" };
    say(&format!("session     {} {painted}{died}", facts.session))?;
    if let Some(broker) = &facts.broker {
        let dead = !broker.running && status == SessionStatus::Active;
        let remedy = if dead { " (restart it with 'git paw start')" } else { "" };
        let process = describe_process(broker);
        say(&format!("broker      {} {process}{remedy}", broker.url.as_deref().unwrap_or("-")))?;
    }
    if let Some(supervisor) = &view.supervisor {
        let work = work(supervisor.state, "running", &supervisor.prompt);
        say(&format!("supervisor  {} {work}", supervisor.cli))?;
    }
    say("")?;
    let rows = view.agents.iter().filter_map(row);
    if view.agents.iter().any(|agent| agent.host().is_some()) {
        let rows = view.agents.iter().filter(|agent| agent.member.is_some()).zip(rows);
        let rows = rows.map(|(agent, [branch, cli, work, worktree, path])| {
            let host = agent.host().map_or_else(|| "-".to_owned(), |host| host.name.to_string());
            [branch, cli, host, work, worktree, path]
        });
        context.output.table(["BRANCH", "CLI", "HOST", "AGENT", "WORKTREE", "PATH"], rows.collect())?;
    } else {
        context.output.table(["BRANCH", "CLI", "AGENT", "WORKTREE", "PATH"], rows.collect())?;
    }
    show_problems(view, context)?;
    let needs = view.needs();
    if needs.is_empty() {
        return Ok(());
    }
    say("")?;
    context.output.note(&format!(
        "{} you (git paw next)",
        text::plural_irregular(needs.len(), "agent needs", "agents need")
    ));
    Ok(())
}

/// Why other machines cannot be reached, once for each.
fn show_problems(view: &SessionView, context: &Context) -> Result<(), PawError> {
    let problem = |agent: &AgentView| {
        let host = agent.host()?;
        let reach = host.reach.as_ref().filter(|reach| !reach.is_reachable)?;
        Some(format!("{}: {}", host.name, text::line(reach.problem.as_deref()?)))
    };
    let problems: BTreeSet<String> = view.agents.iter().filter_map(problem).collect();
    if problems.is_empty() {
        return Ok(());
    }
    context.output.say("")?;
    problems.iter().try_for_each(|problem| context.output.say(problem))
}

fn row(agent: &AgentView) -> Option<[String; 5]> {
    let member = agent.member.as_ref()?;
    let state = member.process.unwrap_or(CliState::Absent);
    let path = member.worktree_path.as_ref().map(|path| path.display().to_string());
    let prompt = member.prompt.as_ref().unwrap_or(&PromptDelivery::Delivered);
    let work = match &member.host {
        Some(host) => match host.unreachable_since() {
            Some(since) => format!("unreachable since {}", since.strftime("%Y-%m-%d %H:%M:%S UTC")),
            None => agent.status().1.to_owned(),
        },
        None => work(state, agent.status().1, prompt),
    };
    let is_proven = agent.verification() == Some(TipVerification::Proven);
    Some([
        member.branch.to_string(),
        member.cli.clone(),
        if is_proven && !work.contains("verified") { format!("{work}, verified") } else { work },
        member.worktree.as_ref().map(ToString::to_string).unwrap_or_default(),
        path.unwrap_or_default(),
    ])
}

/// The state of a CLI in words. `activity` describes a running one.
fn work(state: CliState, activity: &str, prompt: &PromptDelivery) -> String {
    match (state, prompt) {
        (CliState::Running, PromptDelivery::Delivered) => activity.to_owned(),
        (CliState::Running, PromptDelivery::Pending) => format!("{activity}, prompt pending"),
        (CliState::Running, PromptDelivery::Failed { prompt_problem }) => {
            format!("{activity}, prompt not delivered: {}", Text::line(prompt_problem))
        }
        (CliState::Starting, _) => "starting".to_owned(),
        (CliState::Ended, _) => "exited".to_owned(),
        (CliState::Absent, _) => "-".to_owned(),
    }
}

fn style(status: SessionStatus) -> Style {
    match status {
        SessionStatus::Active => Style::Success,
        SessionStatus::Paused => Style::Warning,
        SessionStatus::Stopped => Style::Dim,
    }
}
