//! The command of our git commit hook: reports an agent's commit to the session.

use clap::Args;
use paw_broker::hooks::CommitSignal;
use paw_core::PawError;
use paw_host::clock;

use crate::context::Context;

#[derive(Debug, Args)]
pub(crate) struct CommitSignalArgs {
    commit: String,
}

pub(crate) fn run(args: &CommitSignalArgs, context: &Context) -> Result<(), PawError> {
    let found = CommitSignal::find(&context.cwd, &args.commit)?;
    if let Some(signal) = found {
        context.worktree_client(&signal.agent)?.publish(&signal.to_message(), clock::now())?;
    }
    Ok(())
}
