//! `git paw remove`

use clap::Args;
use paw_core::receipt::AgentLookupError;
use paw_core::{AgentId, PawError};
use paw_session::lifecycle::remove::RemoveAgentOptions;
use paw_worktree::Worktrees;

use crate::context::Context;
use crate::rescue::print_rescue;
use crate::session::own_pane;

/// Remove agents from the running session
///
/// Ends each agent's CLI, closes its pane and removes its worktree. The branch is kept, and the other agents keep running. With --force,
/// an agent on another machine is removed whatever that machine answers; its last snapshot is kept for `git paw undo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw remove feat/api
  git paw remove feat/api feat/ui --keep-worktree")]
pub(crate) struct RemoveArgs {
    /// The agents, by branch, id or a unique prefix
    #[arg(required = true, value_name = "AGENT")]
    agents: Vec<String>,
    /// Keep the worktree
    #[arg(long)]
    keep_worktree: bool,
    /// Remove the worktree even with uncommitted changes (saved for `git paw undo`)
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &RemoveArgs, context: &Context) -> Result<(), PawError> {
    let _lock = context.lock_session(&context.require_repo()?)?;
    let receipt = context.require_session()?.receipt;
    for name in args.agents.iter().filter(|name| *name != AgentId::SUPERVISOR) {
        match receipt.find_named(name) {
            Err(AgentLookupError::Elsewhere { .. }) => {
                context.require_user("remove an agent on another machine")?;
            }
            found => drop(found?),
        }
    }
    args.agents.iter().try_for_each(|name| remove(name, args, context))
}

fn remove(name: &str, args: &RemoveArgs, context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    if let Some((session, agent)) = context.find_remote(name)? {
        return context.remove_remote(&session, &agent, (args.keep_worktree, args.force));
    }
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let own_pane = own_pane();
    let options = RemoveAgentOptions {
        keep_worktree: args.keep_worktree,
        force: args.force,
        own_pane: own_pane.as_deref(),
    };
    let removed = session.remove_agent(&worktrees, name, options)?;
    if let Some(rescue) = removed.worktree.as_ref().and_then(|removed| removed.rescue.as_ref()) {
        print_rescue(rescue, context);
    }
    let kept = if removed.worktree.is_some() { "" } else { " and the worktree" };
    context.output.say(&format!("removed the agent of {}; kept the branch{kept}", removed.agent.branch))
}
