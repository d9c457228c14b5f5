//! `git paw status`

use clap::Args;
use paw_core::PawError;
use paw_screen::text::Text;
use paw_session::lifecycle::Session;
use paw_session::lifecycle::status::{AgentView, CliState, Overview, Prompt};
use serde_json::{Value, json};

use crate::context::Context;
use crate::output::{Style, to_json};

/// Show the session of this repository: broker, agents, worktrees
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
        Some(session) => show(&session.overview()?, context),
        None => context.output.say("No session for this repo."),
    }
}

/// The answer for programs.
pub(crate) fn answer(context: &Context) -> Result<Value, PawError> {
    let Some(session) = find(context)? else { return Ok(json!({"session": null})) };
    to_json(&session.overview()?)
}

fn find(context: &Context) -> Result<Option<Session>, PawError> {
    let at_a_glance = Session::find_at_a_glance(&context.cwd, &context.receipts())?;
    let session = if at_a_glance.is_some() { at_a_glance } else { context.find_session()? };
    if session.is_none() {
        warn_of_unreadable(context)?;
    }
    Ok(session)
}

/// One of them may be this repository's.
fn warn_of_unreadable(context: &Context) -> Result<(), PawError> {
    for file in context.receipts().all()?.unreadable {
        context.output.warn(&format!("cannot use {}: {}", file.path.display(), file.problem));
    }
    Ok(())
}

fn show(overview: &Overview, context: &Context) -> Result<(), PawError> {
    let say = |line: &str| context.output.say(line);
    let status = context.output.paint(style(overview), &overview.status.to_string());
    let died = overview.recorded != overview.status;
    let died = if died { " (git paw start brings it back)" } else { "" };
    say(&format!("session     {} {status}{died}", overview.session))?;
    if let Some(broker) = &overview.broker {
        let state = if broker.running { "running" } else { "not running" };
        say(&format!("broker      {} {state}", broker.url.as_deref().unwrap_or("-")))?;
    }
    if let Some(supervisor) = &overview.supervisor {
        let work = work(supervisor.state, &supervisor.prompt);
        say(&format!("supervisor  {} {work}", supervisor.cli))?;
    }
    say("")?;
    let rows = overview.worktrees.iter().map(row).collect();
    context.output.table(["BRANCH", "CLI", "AGENT", "WORKTREE", "PATH"], rows)
}

fn row(agent: &AgentView) -> [String; 5] {
    [
        agent.branch.to_string(),
        agent.cli.clone(),
        work(agent.state, &agent.prompt),
        agent.worktree.to_string(),
        agent.worktree_path.display().to_string(),
    ]
}

fn work(state: CliState, prompt: &Prompt) -> String {
    match (state, prompt) {
        (CliState::Running, Prompt::Delivered) => "running".to_owned(),
        (CliState::Running, Prompt::Pending) => "running, prompt pending".to_owned(),
        (CliState::Running, Prompt::Failed { prompt_problem }) => {
            format!("running, prompt not delivered: {}", Text::line(prompt_problem))
        }
        (CliState::Starting, _) => "starting".to_owned(),
        (CliState::Ended, _) => "ended".to_owned(),
        (CliState::Absent, _) => "-".to_owned(),
    }
}

fn style(overview: &Overview) -> Style {
    match overview.status {
        paw_core::SessionStatus::Active => Style::Good,
        paw_core::SessionStatus::Paused => Style::Doubtful,
        paw_core::SessionStatus::Stopped => Style::Dim,
    }
}
