//! `git paw worktree list`

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use paw_worktree::{WorktreeError, WorktreeListing, WorktreeStatus, Worktrees};
use serde_json::{Value, json};

use super::view;
use crate::context::Context;

/// List the worktrees of this repository
///
/// Worktrees created with plain git are listed as unmanaged; `git paw worktree adopt` registers them. Outside a repository,
/// or with --all, lists the worktrees of every repository. The test checkouts of verify and merge are listed only with
/// --json, with their kind.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree list
  git paw worktree list --all --json")]
pub(crate) struct ListArgs {
    /// List the worktrees of every repository
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(args, worktrees, context)?);
    }
    print(&load(args, worktrees, context)?, context)
}

/// The answer for programs.
pub(crate) fn answer(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<Value, PawError> {
    let listing = load(args, worktrees, context)?;
    let managed = listing.worktrees.iter().map(view::managed);
    let unmanaged = listing.unmanaged.iter().map(view::unmanaged);
    let all: Vec<Value> = managed.chain(unmanaged).collect();
    Ok(json!({"worktrees": all}))
}

fn load(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<WorktreeListing, PawError> {
    match worktrees.list(if args.all { None } else { Some(&context.cwd) }) {
        Err(WorktreeError::NotARepository(_)) => Ok(worktrees.list(None)?),
        listing => Ok(listing?),
    }
}

fn print(listing: &WorktreeListing, context: &Context) -> Result<(), PawError> {
    let mut rows = Vec::new();
    for row in &listing.worktrees {
        let (id, path) = (row.id.to_string(), text::path(&row.path));
        rows.push([row.name.clone(), row.branch.to_string(), row.status.to_string(), id, path]);
    }
    for entry in &listing.unmanaged {
        let branch = entry.branch.as_ref().map_or("(no branch)", paw_core::BranchName::as_str);
        let status = if entry.missing { "stale" } else { "unmanaged" };
        let path = text::path(&entry.path);
        rows.push([
            text::line(&entry.name).into_owned(),
            branch.to_owned(),
            status.to_owned(),
            "-".to_owned(),
            path,
        ]);
    }
    if rows.is_empty() {
        return context.output.say("no worktrees (create one with 'git paw worktree create <branch>')");
    }
    context.output.table(["NAME", "BRANCH", "STATUS", "ID", "PATH"], rows)?;
    for row in listing.worktrees.iter().filter(|row| row.status == WorktreeStatus::Broken) {
        if let Some(message) = &row.message {
            context.output.warn(&format!("{}: {message}", row.name));
        }
    }
    Ok(())
}
