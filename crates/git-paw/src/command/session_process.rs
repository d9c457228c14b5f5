//! The session's long-running process, detached from any terminal.

use clap::Args;
use paw_core::PawError;
use paw_core::paths::PawDir;
use paw_host::process::{leave_terminal, silence_stdout};
use paw_runtime::{BrokerlessSession, SessionProcess};
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
    let run = serve(context).inspect_err(|error| tracing::error!(target: "paw::session", "{error}"))?;
    context.output.document(&json!({"ready": true}))?;
    silence_stdout().map_err(|error| PawError::internal(format!("cannot close standard output: {error}")))?;
    run();
    Ok(())
}

/// Starts the process. The result runs it until it ends.
fn serve(context: &Context) -> Result<Box<dyn FnOnce()>, PawError> {
    let pid = std::process::id();
    let ending = move || tracing::info!(target: "paw::session", "ending process {pid}");
    let receipt = context.require_session()?.receipt;
    let settings = context.session_settings()?;
    if !receipt.has_broker() {
        let session = BrokerlessSession::start(&settings, receipt)?;
        tracing::info!(target: "paw::session", "started as process {pid}, without a broker");
        return Ok(Box::new(move || {
            session.run();
            ending();
        }));
    }
    let session = SessionProcess::start(&settings)?;
    tracing::info!(target: "paw::session", "started as process {pid}, broker at {}", session.url());
    Ok(Box::new(move || {
        session.runtime().block_on(session.ended());
        ending();
        session.stop();
    }))
}
