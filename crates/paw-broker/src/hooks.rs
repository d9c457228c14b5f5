//! Git hooks that report commits, only in the worktrees of agents.
//!
//! The user's hooks are not changed, moved or wrapped: they may be managed by another tool, tracked, or shared with
//! other repositories. Instead, the repository's configuration includes a file for linked worktrees only, which points
//! `core.hooksPath` to our [`script`]s. Each script finds and runs the user's hook: in the `core.hooksPath` that would
//! apply without us, or else in `hooks` of the repository. In a worktree without our marker they do nothing else.
//!
//! Scripts contain no names of branches or agents. The hook passes the id of the new commit to git paw in the
//! background; [`CommitSignal`] reads the rest from git.

mod install;
mod script;
mod signal;

pub use install::{
    HookError, HookSetup, find_damage, install, install_all, repair, uninstall, uninstall_all,
};
pub use signal::CommitSignal;
