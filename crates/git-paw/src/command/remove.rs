//! `git paw remove`

use clap::Args;
use paw_core::PawError;
use paw_session::launch;
use paw_session::lifecycle::remove::RemoveAgent;
use paw_worktree::Worktrees;

use crate::context::Context;
use crate::rescue::tell_rescue;
use crate::session::own_pane;

/// Take an agent out of the session, while the others go on
///
/// Ends the agent's CLI, closes its pane and removes its worktree. The branch stays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw remove feat/api
  git paw remove feat/api --keep-worktree")]
pub(crate) struct RemoveArgs {
    /// The branch it works on
    branch: String,
    /// Leave its worktree where it is
    #[arg(long)]
    keep_worktree: bool,
    /// Remove the worktree with its uncommitted changes (they are kept for `git paw undo`)
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &RemoveArgs, context: &Context) -> Result<(), PawError> {
    let _lock = launch::lock(&context.require_repo()?)?;
    let session = context.require_session()?;
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let own_pane = own_pane();
    let options =
        RemoveAgent { keep_worktree: args.keep_worktree, force: args.force, own_pane: own_pane.as_deref() };
    let removed = session.remove_agent(&worktrees, &args.branch, options)?;
    if let Some(rescue) = removed.worktree.as_ref().and_then(|removed| removed.rescue.as_ref()) {
        tell_rescue(rescue, context);
    }
    let kept = if removed.worktree.is_some() { "" } else { "; its worktree stays" };
    context.output.say(&format!("removed the agent of {}; the branch stays{kept}", removed.agent.branch))
}
