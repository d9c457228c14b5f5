//! `git paw worktree switch`

use clap::Args;
use paw_core::PawError;
use paw_worktree::Worktrees;
use serde_json::json;

use super::view;
use crate::context::Context;

/// Print the directory of a worktree, or change to it
///
/// A program cannot change its shell's directory. With `eval "$(git paw shell-init bash)"` in your shell's startup file, this
/// command changes to the worktree.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree switch auth
  cd \"$(git paw worktree switch auth)\"")]
pub(super) struct SwitchArgs {
    /// Id or name of the worktree
    worktree: String,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &SwitchArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    let switched = worktrees.switch(&args.worktree, context.repo_dir())?;
    if context.output.wants_json() {
        let previous = switched.previous_worktree_id.as_ref().map(paw_worktree::WorktreeId::as_str);
        let document =
            json!({"worktree": view::managed(&switched.worktree), "previous_worktree_id": previous});
        return context.output.document(&document);
    }
    context.output.say_path(&switched.worktree.path)
}
