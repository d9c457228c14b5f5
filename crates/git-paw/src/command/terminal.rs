//! What the page needs of an agent's pane, on whichever machine it is.

use std::process::ExitCode;

use clap::Args;
use paw_cluster::hub;
use paw_core::{AgentId, ErrorCode, PawError};
use paw_host::process::Exit;
use paw_session::lifecycle::terminal::{self, TERMINAL_COMMAND};

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
    /// End when the other side is silent
    #[arg(long)]
    leased: bool,
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
        if args.text {
            let words = [TERMINAL_COMMAND, agent.as_str(), "--text"];
            return context.forward(&session.receipt, &remote.host, &words);
        }
        let words = [TERMINAL_COMMAND, agent.as_str(), "--holder", &args.holder, "--leased"];
        let host = hub::require_host(&session.repo, session.receipt.cluster.as_ref(), &remote.host)?;
        return Ok(code(terminal::connect_elsewhere(&host.command(&words, false))?));
    }
    let session = context.require_session()?;
    if args.text {
        context.output.say(&session.pane_text(agent)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(code(session.connect_terminal(agent, &args.holder, args.leased)?))
}

fn code(exit: Exit) -> ExitCode {
    match exit {
        Exit::Code(0) => ExitCode::SUCCESS,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut { .. } => ExitCode::FAILURE,
    }
}
