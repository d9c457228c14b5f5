//! Recovering from a process that died: an unfinished creation is undone, an unfinished removal is completed.

use paw_host::git::{self, Git};
use paw_host::locks::WorktreesLock;
use paw_host::process;

use crate::error::WorktreeError;
use crate::list::list_worktrees_with_retry;
use crate::reconcile::is_linked;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::remove::{find_stored, require_no_nested_worktrees, store_with_retry};
use crate::rescue::{self, RescueRequest};
use crate::restore::find_restoring;
use crate::rollback::{delete_files, remove_created_parents};
use crate::service::{Worktrees, now, require_repository};

impl Worktrees {
    /// Recovers every unfinished row whose owner is dead. Costs one query if there is none.
    pub(crate) fn recover(&self) -> Result<(), WorktreeError> {
        for row in self.registry.load_unfinished()? {
            let Some(_operation) = self.try_begin(&row.id)? else { continue };
            // Its owner may have finished in the meantime.
            let Some(row) = self.registry.find(&row.id)? else { continue };
            let recovered = match row.status {
                WorktreeStatus::Creating => self.resolve_creation(&row),
                WorktreeStatus::Removing => self.finish_removal(&row),
                WorktreeStatus::Active | WorktreeStatus::Stale | WorktreeStatus::Broken => Ok(()),
            };
            // A row that cannot be recovered, for example on an unmounted disk, must not stop the others.
            if let Err(error) = recovered {
                tracing::warn!("cannot recover worktree {} at {}: {error}", row.id, row.path.display());
            }
        }
        Ok(())
    }

    fn resolve_creation(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        if !row.common_dir.exists() {
            self.registry.delete(&row.id, now())?;
            return Ok(());
        }
        // Child processes of the dead process may still be writing.
        process::terminate(&process::processes_in(&row.path));
        let lock = WorktreesLock::wait(&row.common_dir)?;
        if let Some(id) = find_restoring(row) {
            return self.resolve_restore(row, id, &lock);
        }
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

    /// The work was stored before the row changed to `removing`, but more may have been added since.
    fn finish_removal(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        if row.common_dir.exists() {
            // A git that the dead process has started may still be deleting.
            WorktreesLock::wait_until_free(&row.common_dir)?;
            if is_linked(row) {
                self.store_late_changes(row)?;
            }
            git::sync_repository(&row.common_dir)?;
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
        let kept = if rescue::is_rest_of_removal(&repo, find_stored(row), &row.path).unwrap_or(false) {
            None
        } else {
            store_with_retry(&RescueRequest {
                repo: &repo,
                worktree: &row.path,
                branch: None,
                reason: "interrupted removal finished",
                include_ignored: false,
                delete_branch: false,
            })?
        };
        let kept = kept.map(|rescue| {
            format!("; its work is stored, restore it with: git paw undo restore {}", rescue.id)
        });
        tracing::warn!(
            "removing worktree {} at {}: its removal was interrupted{}",
            row.id,
            row.path.display(),
            kept.unwrap_or_default()
        );
        Ok(())
    }
}

/// Whether the unfinished worktree contains changes made after its checkout was complete (git writes the index last).
/// Commits are safe on the branch, and a rebase in progress is our own.
fn holds_work(row: &ManagedWorktree) -> bool {
    let Some(admin) = &row.admin_dir else { return false };
    let rebasing = ["rebase-merge", "rebase-apply"].iter().any(|name| admin.join(name).exists());
    let complete = admin.join("index").exists() && row.path.exists();
    complete && !rebasing && Git::at(&row.path).status().is_ok_and(|changes| !changes.is_empty())
}
