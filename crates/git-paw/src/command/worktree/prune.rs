//! `git paw worktree prune`

use clap::Args;
use paw_core::PawError;
use paw_worktree::{PrunedWorktrees, Worktrees};
use serde_json::{Value, json};

use super::view;
use crate::context::Context;

/// Unregister worktrees whose directory is gone, except locked ones
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw worktree prune")]
pub(super) struct PruneArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    let PrunedWorktrees { removed, locked } = worktrees.prune(context.repo_dir())?;
    if context.output.wants_json() {
        let removed: Vec<Value> = removed.iter().map(|removed| view::managed(&removed.worktree)).collect();
        let locked: Vec<Value> = locked.iter().map(view::managed).collect();
        return context.output.document(&json!({"removed": removed, "locked": locked}));
    }
    for row in &locked {
        context.output.note(&format!("kept {}: locked ({})", row.name, row.path.display()));
    }
    for removed in &removed {
        let row = &removed.worktree;
        context.output.say(&format!("unregistered {} ({})", row.name, row.path.display()))?;
    }
    if removed.is_empty() {
        context.output.say("nothing to prune")?;
    }
    Ok(())
}
