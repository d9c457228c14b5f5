//! `git paw worktree list`

use clap::Args;
use paw_core::PawError;
use paw_core::text;
use paw_worktree::{Listing, Status, WorktreeError, Worktrees};
use serde_json::{Value, json};

use super::kind::Kind;
use super::view;
use crate::context::Context;

/// List the worktrees of this repository
///
/// Those made by plain git are listed too, marked unmanaged; `git paw worktree adopt` takes them in. Outside of a
/// repository, or with --all, the worktrees of every repository are listed. Checkouts that verify and merge test in are
/// ours and left out; --json has them, with their kind.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw worktree list
  git paw worktree list --all --json")]
pub(crate) struct ListArgs {
    /// Of every repository
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
    let unmanaged = listing.unmanaged.iter().map(|entry| view::unmanaged(entry, Kind::of(entry, context)));
    let all: Vec<Value> = managed.chain(unmanaged).collect();
    Ok(json!({"worktrees": all}))
}

fn load(args: &ListArgs, worktrees: &Worktrees, context: &Context) -> Result<Listing, PawError> {
    match worktrees.list(if args.all { None } else { Some(&context.cwd) }) {
        Err(WorktreeError::NotARepository(_)) => Ok(worktrees.list(None)?),
        listing => Ok(listing?),
    }
}

fn print(listing: &Listing, context: &Context) -> Result<(), PawError> {
    let mut rows = Vec::new();
    for row in &listing.worktrees {
        let (id, path) = (row.id.to_string(), text::path(&row.path));
        rows.push([row.name.clone(), row.branch.to_string(), row.status.to_string(), id, path]);
    }
    for entry in listing.unmanaged.iter().filter(|entry| Kind::of(entry, context) == Kind::Worktree) {
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
        return context.output.say("no worktrees (make one: git paw worktree create <branch>)");
    }
    context.output.table(["NAME", "BRANCH", "STATUS", "ID", "PATH"], rows)?;
    for row in listing.worktrees.iter().filter(|row| row.status == Status::Broken) {
        if let Some(message) = &row.message {
            context.output.warn(&format!("{}: {message}", row.name));
        }
    }
    Ok(())
}
