//! `git paw worktree adopt`

use std::path::PathBuf;

use clap::Args;
use paw_core::PawError;
use paw_worktree::Worktrees;
use serde_json::json;

use super::view;
use crate::context::Context;

/// Register a worktree that was created with plain git
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw worktree adopt ../my-worktree")]
pub(super) struct AdoptArgs {
    /// Directory of the worktree
    path: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &AdoptArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    let row = worktrees.adopt(&context.cwd.join(&args.path))?;
    if context.output.wants_json() {
        return context.output.document(&json!({"worktree": view::managed(&row)}));
    }
    context.output.say(&format!("adopted {} on {}: {}", row.name, row.branch, row.path.display()))
}
