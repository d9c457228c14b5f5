//! The command of our git commit hook: reports an agent's commit to the session.

use clap::Args;
use paw_broker::hooks::CommitSignal;
use paw_broker::log::SendId;
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
        let id = SendId::of_commit(&signal.commit).unwrap_or_else(SendId::random);
        context.worktree_client(&signal.agent)?.publish_once(&signal.to_message(), clock::now(), id)?;
    }
    Ok(())
}
