//! `git paw worktree remove`

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use paw_worktree::{RemoveOptions, Removed, Worktrees};
use serde_json::{Value, json};

use super::view;
use crate::context::Context;
use crate::rescue::{tell_ignored, tell_rescue};

/// Remove a worktree; work that is not merged or not committed is kept first
///
/// Without --force a worktree with changes, with running programs or with an active conversation stays. Its branch
/// stays as well, unless --delete-branch says otherwise. One that holds other worktrees stays in any case. A name means
/// a worktree of the repository you are in; those of others have ids.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree remove auth
  git paw worktree remove auth --force --delete-branch
  git paw undo                         (what was kept)")]
pub(crate) struct RemoveArgs {
    /// Its id or its name
    pub(crate) worktree: String,
    /// Remove it with its changes (they are kept for `git paw undo`), and end the programs that run in it
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Delete the branch it was made for too, if that is checked out; commits that are nowhere else are kept for `git paw undo`
    #[arg(long)]
    pub(crate) delete_branch: bool,
    /// Keep ignored files as well
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
        Some(rescue) => tell_rescue(rescue, context),
        None => tell_ignored(&removed.ignored_left_behind, context),
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

fn remove(args: &RemoveArgs, worktrees: &Worktrees, context: &Context) -> Result<Removed, PawError> {
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
