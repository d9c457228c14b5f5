//! What the page needs of an agent's pane, on whichever machine it is.

use std::process::ExitCode;

use clap::Args;
use paw_core::{AgentId, ErrorCode, PawError};
use paw_host::process::Exit;
use paw_session::lifecycle::terminal::TERMINAL_COMMAND;

use crate::context::Context;

/// Connect to the pane of an agent in tmux's control mode
#[derive(Debug, Args)]
pub(crate) struct TerminalArgs {
    agent: AgentId,
    /// Print what the pane shows instead
    #[arg(long)]
    text: bool,
    /// The name under which the pane is taken over
    #[arg(long, default_value = "page", value_parser = plain_word)]
    holder: String,
}

/// The name becomes a part of a tmux format.
fn plain_word(text: &str) -> Result<String, PawError> {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Ok(text.to_owned());
    }
    Err(PawError::new(ErrorCode::InvalidArgument, "only letters, digits and '-' are allowed"))
}

/// Ends like the connection.
pub(crate) fn run(args: &TerminalArgs, context: &Context) -> Result<ExitCode, PawError> {
    context.require_user("use the terminal of an agent")?;
    let agent = &args.agent;
    if let Some((session, remote)) = context.find_remote(agent.as_str())? {
        Context::require_reachable(&session, &remote.host)?;
        let mut words = vec![TERMINAL_COMMAND, agent.as_str(), "--holder", &args.holder];
        words.extend(args.text.then_some("--text"));
        return context.forward(&session.receipt, &remote.host, &words);
    }
    let session = context.require_session()?;
    if args.text {
        context.output.say(&session.pane_text(agent)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(match session.connect_terminal(agent, &args.holder)? {
        Exit::Code(0) => ExitCode::SUCCESS,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut { .. } => ExitCode::FAILURE,
    })
}
