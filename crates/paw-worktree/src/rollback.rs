//! Undoing a creation that did not succeed: directory, registration, branch and row.

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
    /// Leaves nothing of a worktree that could not be made. What cannot be undone now keeps its row, and the next
    /// process tries again.
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
            // A branch that has moved holds somebody's work.
            if state.commit.as_deref() == Some(row.start.as_str()) && state.checked_out_at.is_none() {
                git.delete_branch(&row.branch)?;
            }
        }
        self.registry.delete(&row.id, now())?;
        Ok(())
    }
}

/// Deletes a worktree's directory and what git keeps about it. A directory that git does not take for this worktree
/// is somebody else's and stays, unless it is empty.
pub(crate) fn delete_files(row: &ManagedWorktree, _lock: &WorktreesLock) -> Result<(), WorktreeError> {
    let about_it = |admin: &Path| git::worktree_of(admin).as_deref() == Some(row.path.as_path());
    let admin = row.admin_dir.clone().filter(|admin| about_it(admin));
    let found = || git::find_admin_dir(&row.common_dir, &row.path).filter(|admin| is_ours(row, admin));
    let Some(admin) = admin.or_else(found) else {
        let _ = fs::remove_dir(&row.path);
        return Ok(());
    };
    delete_dir(&row.path)?;
    delete_dir(&admin)?;
    // Git removes the last one as well.
    let _ = fs::remove_dir(row.common_dir.join("worktrees"));
    Ok(())
}

/// Which record belongs to a half is written down before the half is filled. One with an index that nobody has written
/// down is that of somebody who was there before or came in between.
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

/// The first file that is still there, to have one to name.
pub(crate) fn find_remaining_file(dir: &Path) -> PathBuf {
    let first = |dir: &Path| fs::read_dir(dir).ok()?.find_map(Result::ok);
    let mut place = dir.to_path_buf();
    while let Some(entry) = first(&place) {
        place = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            break;
        }
    }
    place
}

/// Directories that were made only to hold the worktree go with it.
pub(crate) fn remove_created_parents(row: &ManagedWorktree) {
    let made = row.path.ancestors().skip(1).take_while(|dir| dir.starts_with(&row.topmost_made));
    for dir in made {
        if fs::remove_dir(dir).is_err() {
            return;
        }
    }
}
