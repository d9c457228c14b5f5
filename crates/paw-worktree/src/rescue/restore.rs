//! Restoring a rescue into a new worktree or an existing directory.

use std::fs;
use std::path::{Path, PathBuf};

use paw_host::files::sync_file_systems;
use paw_host::git::Repo;
use serde::Serialize;

use super::branch::BranchOutcome;
use super::list::require_stored;
use super::{Rescue, RescueError, restore_files, restore_worktree};
use crate::error::WorktreeError;

/// The target of a restore.
#[derive(Debug, Clone, Copy)]
pub enum RestoreInto<'a> {
    /// A new worktree: files, index and an unfinished merge or rebase are restored exactly.
    NewWorktree(&'a Path),
    /// A directory, usually another worktree: files and staged changes, without conflicts and unfinished merges.
    Existing(&'a Path),
}

#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions<'a> {
    /// Restore only these files and directories, relative to the worktree. Empty means everything.
    pub paths: &'a [PathBuf],
    /// Overwrite changes in an existing directory.
    pub force: bool,
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoredRescue {
    pub rescue: Rescue,
    #[serde(serialize_with = "super::lossy")]
    pub dir: PathBuf,
    pub branch: BranchOutcome,
    /// Files and symlinks that were written, and files that were deleted.
    #[serde(serialize_with = "super::lossy_list")]
    pub files: Vec<PathBuf>,
}

/// Restores a rescue as a new worktree. `on_linked` is called with git's admin directory before the first file is written.
pub(crate) fn restore_new(
    repo: &Repo,
    id: &str,
    dir: &Path,
    options: RestoreOptions<'_>,
    on_linked: &mut dyn FnMut(&Path) -> Result<(), WorktreeError>,
) -> Result<RestoredRescue, WorktreeError> {
    if fs::symlink_metadata(dir).is_ok() && !is_empty_dir(dir) {
        return Err(RescueError::TargetExists(dir.to_path_buf()).into());
    }
    let restored = restore_worktree::restore(repo, require_stored(repo, id)?, dir, options, on_linked)?;
    // The rescue may be deleted next.
    sync_file_systems(&[&restored.dir])?;
    Ok(restored)
}

/// Restores the work of a rescue. The rescue itself stays. A new worktree is not registered; `Worktrees::restore` does that.
pub fn restore(
    repo: &Repo,
    id: &str,
    into: RestoreInto<'_>,
    options: RestoreOptions<'_>,
) -> Result<RestoredRescue, WorktreeError> {
    let dir = match into {
        RestoreInto::NewWorktree(dir) => return restore_new(repo, id, dir, options, &mut |_| Ok(())),
        RestoreInto::Existing(dir) if dir.is_dir() => dir,
        RestoreInto::Existing(dir) => return Err(RescueError::NoTarget(dir.to_path_buf()).into()),
    };
    let restored = restore_files::restore(repo, require_stored(repo, id)?, dir, options)?;
    // The rescue may be deleted next.
    sync_file_systems(&[&restored.dir])?;
    Ok(restored)
}

fn is_empty_dir(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}
