//! `git paw worktree prune`

use clap::Args;
use paw_worktree::Worktrees;
use serde_json::{Value, json};

use super::view;
use crate::context::Context;
use crate::failure::Failure;

/// Forget worktrees whose directory is gone
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw worktree prune")]
pub(super) struct PruneArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(worktrees: &Worktrees, context: &Context) -> Result<(), Failure> {
    let removed = worktrees.prune(context.repo_dir())?;
    if context.output.wants_json() {
        let rows: Vec<Value> = removed.iter().map(|removed| view::managed(&removed.worktree)).collect();
        return Ok(context.output.document(&json!({"removed": rows}))?);
    }
    for removed in &removed {
        let row = &removed.worktree;
        context.output.say(&format!("forgot {} ({})", row.name, row.path.display()))?;
    }
    if removed.is_empty() {
        context.output.say("nothing to forget")?;
    }
    Ok(())
}
