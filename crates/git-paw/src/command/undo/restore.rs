//! `git paw undo restore`

use std::path::{Path, PathBuf};

use clap::Args;
use paw_core::PawError;
use paw_core::paths::DataDir;
use paw_core::text::plural;
use paw_host::git::Repo;
use paw_worktree::rescue::{self, RestoreInto, RestoreOptions};
use paw_worktree::{Worktrees, check};

use crate::context::Context;

/// Restore kept work
///
/// Restores a whole worktree next to the repository, with its branch, its staged and unstaged changes and its new files.
/// With --path, restores only those files, into the current worktree.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw undo restore 2026
  git paw undo restore 2026 --path src/main.rs --path docs
  git paw undo restore 2026 --into ../somewhere")]
pub(super) struct RestoreArgs {
    /// The id, or a prefix of it
    id: String,
    /// Restore only this file or directory; repeatable
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
    /// Target directory: a new one becomes a worktree, an existing one receives the files
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Overwrite existing changes
    #[arg(short, long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

impl RestoreArgs {
    /// Restores everything to its original place.
    pub(super) fn whole(id: &str) -> Self {
        Self { id: id.to_owned(), path: Vec::new(), into: None, force: false, json: false }
    }
}

/// Whether a worktree can be where it was. One that was on another machine cannot.
fn can_be_restored(before: &Path, repo: &Repo) -> bool {
    let was_elsewhere =
        before.parent().is_some_and(DataDir::is_clones) && before.parent() != repo.root.parent();
    !before.exists() && !was_elsewhere
}

pub(super) fn run(args: &RestoreArgs, repo: &Repo, context: &Context) -> Result<(), PawError> {
    let rescue = rescue::require(repo, &args.id)?;
    let dir = match &args.into {
        Some(dir) => context.cwd.join(dir),
        None if !args.path.is_empty() => repo.worktree.clone().unwrap_or_else(|| context.cwd.clone()),
        None => match &rescue.worktree {
            Some(before) if can_be_restored(before, repo) => before.clone(),
            _ => check::default_directory(repo, &rescue.id),
        },
    };
    let options = RestoreOptions { paths: &args.path, force: args.force };
    let restored = if dir.is_dir() {
        rescue::restore(repo, &rescue.id, RestoreInto::Existing(&dir), options)?
    } else {
        Worktrees::open(context.dirs.data_dir())?.restore(repo, &rescue.id, &dir, options)?
    };
    if context.output.wants_json() {
        return context.output.document(&restored);
    }
    let files = plural(restored.files.len(), "file");
    context.output.say(&format!("restored {files} into {}", restored.dir.display()))?;
    context.output.say(&restored.branch.to_string())
}
