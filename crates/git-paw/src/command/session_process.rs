//! The session's long-running process, detached from any terminal.

use clap::Args;
use paw_core::PawError;
use paw_core::paths::PawDir;
use paw_host::process::{leave_terminal, silence_stdout};
use paw_runtime::SessionProcess;
use serde_json::json;

use crate::context::Context;
use crate::output;

/// Run the session's long-running process
#[derive(Debug, Args)]
pub(crate) struct SessionProcessArgs {
    /// Only start it, if it is missing
    #[arg(long)]
    pub(crate) ensure: bool,
}

/// Answers on stdout that it is ready, or why it is not, and runs until a signal ends it.
pub(crate) fn run(args: &SessionProcessArgs, context: &Context) -> Result<(), PawError> {
    if args.ensure {
        context.ensure_process(&context.require_session()?);
        return Ok(());
    }
    leave_terminal();
    output::start_process_log(PawDir::of(&context.require_repo()?.common_dir).session_log());
    let session = start(context).inspect_err(|error| tracing::error!(target: "paw::session", "{error}"))?;
    tracing::info!(target: "paw::session", "started as process {}, broker at {}", std::process::id(), session.url());
    context.output.document(&json!({"ready": true}))?;
    silence_stdout().map_err(|error| PawError::internal(format!("cannot close standard output: {error}")))?;
    session.runtime().block_on(session.ended());
    tracing::info!(target: "paw::session", "ending process {}", std::process::id());
    session.stop();
    Ok(())
}

fn start(context: &Context) -> Result<SessionProcess, PawError> {
    context.require_session()?;
    SessionProcess::start(context.session_settings()?)
}
