//! `git paw explain`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use paw_agent::cli;
use paw_agent::screen::{self, Screen};
use paw_agent::state::{AgentActivity, ObservationSource};
use paw_core::PawError;
use paw_host::clock;
use paw_host::files::FileError;
use paw_supervisor::approval::{self, ApprovalVerdict};
use paw_supervisor::prompt_reply::PendingPrompt;
use paw_supervisor::sweep::{self, AgentSnapshot};
use serde::Serialize;

use crate::approval::rules;
use crate::context::Context;

/// Explain an agent's state, or what a saved screen of an AI CLI shows
///
/// Reads a screen as tmux captures it, plain or with colours (capture-pane -p -e), by the rules of the CLI. An approval
/// prompt is read only if it is completely visible; its command then gets the verdict that it would get in a session.
/// Nothing is answered.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw explain feat-api
  tmux capture-pane -p -e -t %3 > screen.txt && git paw explain --cli claude --screen screen.txt
  git paw explain --cli codex --screen screen.txt --json")]
pub(crate) struct ExplainArgs {
    /// An agent of the running session, by its id or its branch
    #[arg(required_unless_present = "screen", conflicts_with_all = ["screen", "worktree"])]
    agent: Option<String>,
    /// The CLI of the screen: claude, codex, gemini, …
    #[arg(long, requires = "screen")]
    cli: Option<String>,
    /// The file with the saved screen
    #[arg(long, value_name = "FILE", requires = "cli")]
    screen: Option<PathBuf>,
    /// The worktree that a command would run in [default: the current one]
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// A state and its reason, before the verdict.
struct AgentReading {
    state: AgentActivity,
    reason: String,
    /// The source of the state, for an agent of the session.
    source: Option<String>,
    worktree: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Explanation {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

pub(crate) fn run(args: &ExplainArgs, context: &Context) -> Result<(), PawError> {
    let found = match (&args.screen, &args.agent) {
        (Some(file), _) => read_screen(args.cli.as_deref().unwrap_or_default(), file, args.worktree.clone())?,
        (None, agent) => look_at(agent.as_deref().unwrap_or_default(), context)?,
    };
    let explanation = judge(found, context)?;
    if context.output.wants_json() {
        return context.output.document(&explanation);
    }
    for (name, value) in [
        ("state:  ", Some(explanation.state)),
        ("command:", explanation.command.as_deref()),
        ("verdict:", explanation.verdict),
        ("reason: ", Some(explanation.reason.as_str())),
        ("source: ", explanation.source.as_deref()),
    ] {
        if let Some(value) = value {
            context.output.say(&format!("{name} {value}"))?;
        }
    }
    Ok(())
}

fn read_screen(cli: &str, file: &Path, worktree: Option<PathBuf>) -> Result<AgentReading, PawError> {
    let shown = fs::read(file).map_err(FileError::when("read", file))?;
    let reading = screen::read(cli::descriptor(cli), &Screen::parse(&String::from_utf8_lossy(&shown)));
    Ok(AgentReading { state: reading.state, reason: reading.reason, source: None, worktree })
}

fn look_at(agent: &str, context: &Context) -> Result<AgentReading, PawError> {
    let session = context.require_session()?;
    let found = sweep::find(&session, agent, clock::now())?;
    // A prompt in a narrow pane is read in a wide window.
    let prompt =
        if found.is_readable() { None } else { PendingPrompt::find(&session, agent, clock::now()).ok() };
    let AgentSnapshot { known, worktree, cli, .. } = found;
    if let Some(prompt) = prompt {
        let state = AgentActivity::WaitingApproval(prompt.ask().clone());
        let source = Some(ObservationSource::Screen.to_string());
        return Ok(AgentReading { state, reason: known.reason, source, worktree: Some(worktree) });
    }
    let source = match known.source {
        ObservationSource::Hooks => {
            cli::descriptor(&cli).hooks.map_or("hooks", |hooks| hooks.source).to_owned()
        }
        source => source.to_string(),
    };
    let source = Some(source);
    Ok(AgentReading { state: known.state, reason: known.reason, source, worktree: Some(worktree) })
}

fn judge(found: AgentReading, context: &Context) -> Result<Explanation, PawError> {
    let AgentReading { state, reason, source, worktree } = found;
    let name = state.name();
    let AgentActivity::WaitingApproval(ask) = state else {
        return Ok(Explanation { state: name, command: None, verdict: None, reason, source });
    };
    let verdict = match ask.command() {
        Some(command) => {
            let (rules, place) = rules::gather(worktree.as_deref(), context)?;
            approval::judge(command, &rules, &place)
        }
        None => ApprovalVerdict::Ask { reason },
    };
    let command = ask.command().map(str::to_owned);
    Ok(Explanation {
        state: name,
        command,
        verdict: Some(verdict.word()),
        reason: verdict.reason().to_owned(),
        source,
    })
}
