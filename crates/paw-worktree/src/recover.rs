//! What a process left half done when it died: undone if it was making a worktree, finished if it was removing one.

use paw_host::git::Git;
use paw_host::locks::WorktreesLock;
use paw_host::process;

use crate::error::WorktreeError;
use crate::list::list_worktrees_with_retry;
use crate::reconcile::is_linked;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::remove::{require_no_nested_worktrees, store_with_retry};
use crate::rescue::RescueRequest;
use crate::rollback::{delete_files, remove_created_parents};
use crate::service::{Worktrees, now, require_repository};

impl Worktrees {
    /// Repairs every unfinished row whose owner is dead. Costs one query when there is none.
    pub(crate) fn recover(&self) -> Result<(), WorktreeError> {
        for row in self.registry.unfinished()? {
            let Some(_operation) = self.try_begin(&row.id)? else { continue };
            // Its owner may have finished between the two looks.
            let Some(row) = self.registry.find(&row.id)? else { continue };
            let repaired = match row.status {
                WorktreeStatus::Creating => self.resolve_creation(&row),
                WorktreeStatus::Removing => self.finish_removal(&row),
                WorktreeStatus::Active | WorktreeStatus::Stale | WorktreeStatus::Broken => Ok(()),
            };
            // One repository that cannot be repaired, on a disk that is gone perhaps, must not stop the others.
            if let Err(error) = repaired {
                tracing::warn!("cannot repair worktree {} at {}: {error}", row.id, row.path.display());
            }
        }
        Ok(())
    }

    fn resolve_creation(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        if !row.common_dir.exists() {
            self.registry.delete(&row.id, now())?;
            return Ok(());
        }
        // What the dead process had started may still be writing.
        process::terminate(&process::processes_in(&row.path));
        let lock = WorktreesLock::wait(&row.common_dir)?;
        if holds_work(row) {
            self.registry.change_status(
                &row.id,
                WorktreeStatus::Creating,
                WorktreeStatus::Active,
                None,
                now(),
            )?;
            return Ok(());
        }
        tracing::warn!(
            "removing worktree {} at {}: its creation was interrupted",
            row.id,
            row.path.display()
        );
        self.try_undo_creation(row, &lock)
    }

    /// What would have been lost was stored before the row said `removing`, but somebody may have worked on since.
    fn finish_removal(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        if row.common_dir.exists() {
            if is_linked(row) {
                self.store_late_changes(row)?;
            }
            let lock = WorktreesLock::wait(&row.common_dir)?;
            delete_files(row, &lock)?;
            remove_created_parents(row);
        }
        self.registry.delete(&row.id, now())?;
        Ok(())
    }

    fn store_late_changes(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        let repo = require_repository(&row.common_dir)?;
        if let Err(error) =
            require_no_nested_worktrees(row, &list_worktrees_with_retry(&repo.git(), &repo.common_dir)?)
        {
            self.registry.change_status(
                &row.id,
                WorktreeStatus::Removing,
                WorktreeStatus::Active,
                None,
                now(),
            )?;
            return Err(error);
        }
        let kept = store_with_retry(&RescueRequest {
            repo: &repo,
            worktree: &row.path,
            branch: None,
            reason: "interrupted removal finished",
            include_ignored: false,
            branch_goes_too: false,
        })?;
        let kept = kept.map(|rescue| format!("; what is in it is kept: git paw undo restore {}", rescue.id));
        tracing::warn!(
            "removing worktree {} at {}: its removal was interrupted{}",
            row.id,
            row.path.display(),
            kept.unwrap_or_default()
        );
        Ok(())
    }
}

/// Whether somebody has used the half: it was checked out to the end (git writes the index last) and then changed.
/// Commits need no care, the branch keeps them; a rebase in progress is ours.
fn holds_work(row: &ManagedWorktree) -> bool {
    let Some(admin) = &row.admin_dir else { return false };
    let rebasing = ["rebase-merge", "rebase-apply"].iter().any(|name| admin.join(name).exists());
    let complete = admin.join("index").exists() && row.path.exists();
    complete && !rebasing && Git::at(&row.path).status().is_ok_and(|changes| !changes.is_empty())
}
