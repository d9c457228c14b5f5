//! Commit signals by git hooks, in the worktrees of agents and nowhere else.
//!
//! No hook of the user's is touched, moved or wrapped in its place: a file that another tool manages, that is tracked,
//! or that other repositories share could not be given back. Instead the repository's configuration includes one
//! file of ours for linked worktrees only, which points `core.hooksPath` to our [`script`]s. Those look up at every
//! run where the hooks would have been (`core.hooksPath` as everybody else sets it, else `hooks` in the repository)
//! and run what is there, whatever it is written in. A worktree without our marker is only passed through.
//!
//! Names are never part of a script. The hook hands the new commit's id to our own program, in the background and
//! with nothing to wait for; [`CommitSignal`] reads the rest from git.

mod install;
mod script;
mod signal;

pub use install::{HookError, HookSetup, install, install_all, uninstall, uninstall_all};
pub use signal::CommitSignal;
