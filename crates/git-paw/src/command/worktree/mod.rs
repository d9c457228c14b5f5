//! `git paw worktree`: creates, lists, opens and removes worktrees.

mod adopt;
pub(crate) mod create;
pub(crate) mod list;
mod prune;
pub(crate) mod remove;
mod switch;
mod view;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_worktree::Worktrees;

use crate::context::Context;

/// Create, list, open and remove worktrees without losing work
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree create feat/auth --new
  git paw worktree list
  cd \"$(git paw worktree switch auth)\"
  git paw worktree remove auth")]
pub(crate) struct WorktreeArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Switch(switch::SwitchArgs),
    Remove(remove::RemoveArgs),
    Prune(prune::PruneArgs),
    Adopt(adopt::AdoptArgs),
}

impl WorktreeArgs {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            Action::Create(args) => args.json,
            Action::List(args) => args.json,
            Action::Switch(args) => args.json,
            Action::Remove(args) => args.json,
            Action::Prune(args) => args.json,
            Action::Adopt(args) => args.json,
        }
    }
}

pub(crate) fn run(args: &WorktreeArgs, context: &Context) -> Result<(), PawError> {
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    match &args.action {
        Action::Create(args) => create::run(args, &worktrees, context),
        Action::List(args) => list::run(args, &worktrees, context),
        Action::Switch(args) => switch::run(args, &worktrees, context),
        Action::Remove(args) => remove::run(args, &worktrees, context),
        Action::Prune(_) => prune::run(&worktrees, context),
        Action::Adopt(args) => adopt::run(args, &worktrees, context),
    }
}
