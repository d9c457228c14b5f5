//! `git paw worktree remove`

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use paw_worktree::{RemoveOptions, RemovedWorktree, Worktrees};
use serde_json::{Value, json};

use super::view;
use crate::context::Context;
use crate::rescue::{print_ignored, print_rescue};

/// Remove a worktree; unmerged and uncommitted work is saved first
///
/// Without --force, a worktree with changes, running programs or an active conversation is not removed. The branch is kept
/// unless --delete-branch is given. A worktree that contains other worktrees is never removed. A name refers to a worktree
/// of the current repository; use the id for those of other repositories.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree remove auth
  git paw worktree remove auth --force --delete-branch
  git paw undo                         (what was kept)")]
pub(crate) struct RemoveArgs {
    /// Id or name of the worktree
    pub(crate) worktree: String,
    /// Remove it with its changes (saved for `git paw undo`) and end the programs in it
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Also delete its branch, if checked out; unmerged commits are saved for `git paw undo`
    #[arg(long)]
    pub(crate) delete_branch: bool,
    /// Save ignored files, too
    #[arg(long)]
    pub(crate) include_ignored: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &RemoveArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, worktrees, context)?);
    }
    let removed = remove(args, worktrees, context)?;
    match &removed.rescue {
        Some(rescue) => print_rescue(rescue, context),
        None => print_ignored(&removed.ignored_left_behind, context),
    }
    let (row, deleted) = (&removed.worktree, removed.branch_deleted);
    let branch = if deleted { format!(" and branch {}", row.branch) } else { String::new() };
    context.output.say(&format!("removed {}{branch}", row.name))
}

/// The answer for programs.
pub(crate) fn answer(args: &RemoveArgs, worktrees: &Worktrees, context: &Context) -> Result<Value, PawError> {
    let removed = remove(args, worktrees, context)?;
    let mut document = json!({
        "removed": true,
        "sessions_closed": removed.sessions_closed,
        "branch_deleted": removed.branch_deleted,
        "worktree": view::managed(&removed.worktree),
    });
    if !removed.ignored_left_behind.is_empty() {
        let left = removed.ignored_left_behind.iter().map(|path| path.to_string_lossy());
        document["ignored_left_behind"] = left.collect();
    }
    if let Some(rescue) = &removed.rescue {
        document["rescue"] = rescue.reference.as_str().into();
    }
    Ok(document)
}

fn remove(args: &RemoveArgs, worktrees: &Worktrees, context: &Context) -> Result<RemovedWorktree, PawError> {
    let options = RemoveOptions {
        force: args.force,
        delete_branch: args.delete_branch,
        include_ignored: args.include_ignored,
    };
    let removed = worktrees.remove(&args.worktree, context.repo_dir(), options)?;
    for process in &removed.ended {
        context.output.note(&format!("ended {} ({})", process.pid, text::line(&process.command_line)));
    }
    for note in &removed.notes {
        context.output.note(note);
    }
    Ok(removed)
}
