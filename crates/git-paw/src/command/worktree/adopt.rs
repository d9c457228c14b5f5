//! `git paw worktree adopt`

use std::path::PathBuf;

use clap::Args;
use paw_worktree::Worktrees;
use serde_json::json;

use super::view;
use crate::context::Context;
use crate::failure::Failure;

/// Take in a worktree that was made by plain git
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw worktree adopt ../my-worktree")]
pub(super) struct AdoptArgs {
    /// Its directory
    path: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &AdoptArgs, worktrees: &Worktrees, context: &Context) -> Result<(), Failure> {
    let row = worktrees.adopt(&context.cwd.join(&args.path))?;
    if context.output.wants_json() {
        return Ok(context.output.document(&json!({"worktree": view::managed(&row)}))?);
    }
    Ok(context.output.say(&format!("adopted {} on {}: {}", row.name, row.branch, row.path.display()))?)
}
