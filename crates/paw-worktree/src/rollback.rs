//! Undoing a failed creation: directory, git's registration, branch and row.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_host::files::FileError;
use paw_host::git::{self, Git};
use paw_host::locks::WorktreesLock;

use crate::error::WorktreeError;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::service::{Worktrees, now};

impl Worktrees {
    /// Undoes a failed creation. If that fails too, the row stays and the next process retries.
    pub(crate) fn undo_creation(&self, row: &ManagedWorktree, lock: &WorktreesLock) {
        if let Err(error) = self.try_undo_creation(row, lock) {
            tracing::warn!(
                "cannot undo the creation of worktree {} at {}: {error}",
                row.id,
                row.path.display()
            );
        }
    }

    pub(crate) fn try_undo_creation(
        &self,
        row: &ManagedWorktree,
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        delete_files(row, lock)?;
        remove_created_parents(row);
        let git = Git::at(&row.common_dir);
        if row.created_branch && row.common_dir.exists() {
            let state = git.branch_state(&row.branch, &row.common_dir)?;
            // A branch that has moved contains work.
            if state.commit.as_deref() == Some(row.start.as_str()) && state.checked_out_at.is_none() {
                git.delete_branch(&row.branch)?;
            }
        }
        self.registry.delete(&row.id, now())?;
        Ok(())
    }
}

/// Deletes a worktree's directory and git's admin directory for it. A directory that git does not link to this worktree
/// is not ours and stays, unless it is empty.
pub(crate) fn delete_files(row: &ManagedWorktree, _lock: &WorktreesLock) -> Result<(), WorktreeError> {
    let is_linked = |admin: &Path| git::worktree_of(admin).as_deref() == Some(row.path.as_path());
    let admin = row.admin_dir.clone().filter(|admin| is_linked(admin));
    let found = || git::find_admin_dir(&row.common_dir, &row.path).filter(|admin| is_ours(row, admin));
    let Some(admin) = admin.or_else(found) else {
        let _ = fs::remove_dir(&row.path);
        return Ok(());
    };
    delete_dir(&row.path)?;
    delete_dir(&admin)?;
    // Like git, remove the parent directory when it is empty.
    let _ = fs::remove_dir(row.common_dir.join("worktrees"));
    Ok(())
}

/// The registry records the admin directory before the checkout starts. An unrecorded admin directory that already has
/// an index therefore belongs to another worktree.
fn is_ours(row: &ManagedWorktree, admin: &Path) -> bool {
    row.status != WorktreeStatus::Creating || !admin.join("index").exists()
}

pub(crate) fn delete_dir(dir: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(FileError { action: "delete", path: dir.to_path_buf(), source }),
    }
}

/// The first remaining file below `dir`, to name one in the error.
pub(crate) fn find_remaining_file(dir: &Path) -> PathBuf {
    let first = |dir: &Path| fs::read_dir(dir).ok()?.find_map(Result::ok);
    let mut path = dir.to_path_buf();
    while let Some(entry) = first(&path) {
        path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            break;
        }
    }
    path
}

/// Removes parent directories that were created only for this worktree.
pub(crate) fn remove_created_parents(row: &ManagedWorktree) {
    let made = row.path.ancestors().skip(1).take_while(|dir| dir.starts_with(&row.topmost_made));
    for dir in made {
        if fs::remove_dir(dir).is_err() {
            return;
        }
    }
}
