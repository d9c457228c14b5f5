//! Restoring a rescue as a worktree. Like a creation, it starts with a row, so that the next process undoes a restore that was
//! killed. The rescue stays, so nothing is lost.

use std::path::Path;

use paw_core::BranchName;
use paw_host::git::Repo;
use paw_host::locks::WorktreesLock;

use crate::crash;
use crate::create::{real_path, topmost_missing};
use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::list::name_of;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::rescue::{self, RestoreOptions, RestoredRescue};
use crate::service::{Worktrees, now, repository_path, require_repository};
use crate::setup::{SetupOutcome, SetupStatus};

/// The message of a row whose worktree is being restored, before the id of the rescue.
const RESTORING: &str = "restoring ";

impl Worktrees {
    /// Restores a rescue into a new worktree at `dir`, and registers the worktree if a branch is checked out in it.
    pub fn restore(
        &self,
        repo: &Repo,
        id: &str,
        dir: &Path,
        options: RestoreOptions<'_>,
    ) -> Result<RestoredRescue, WorktreeError> {
        let row = restoring_row(repo, id, dir)?;
        let operation = self.try_begin(&row.id)?.ok_or_else(|| WorktreeError::Busy { id: row.id.clone() })?;
        self.registry.delete_finished(&row.path)?;
        self.registry.insert(&row)?;
        crash::point("restore:row");
        let mut on_linked = |admin_dir: &Path| {
            let recorded = self.registry.set_admin_dir(&row.id, admin_dir);
            crash::point("restore:linked");
            recorded
        };
        let restored = match rescue::restore_new(repo, id, &row.path, options, &mut on_linked) {
            Ok(restored) => restored,
            Err(error) => {
                let lock = WorktreesLock::wait(&repo.common_dir)?;
                let row = self.registry.find(&row.id)?.unwrap_or(row);
                self.undo_creation(&row, &lock);
                return Err(error);
            }
        };
        crash::point("restore:filled");
        if restored.branch.usable().is_some() {
            self.finish_restore(&row)?;
        } else {
            // Only worktrees with a branch are registered.
            self.registry.delete(&row.id, now())?;
        }
        drop(operation);
        Ok(restored)
    }

    fn finish_restore(&self, row: &ManagedWorktree) -> Result<(), WorktreeError> {
        let (from, to) = (WorktreeStatus::Creating, WorktreeStatus::Active);
        self.registry.change_status(&row.id, from, to, None, now()).map(drop)
    }

    /// Undoes a restore that was killed, unless other work was added to the worktree meanwhile.
    pub(crate) fn resolve_restore(
        &self,
        row: &ManagedWorktree,
        id: &str,
        lock: &WorktreesLock,
    ) -> Result<(), WorktreeError> {
        let repo = require_repository(&row.common_dir)?;
        let path = row.path.display();
        if row.path.exists() && !rescue::is_part_of(&repo, Some(id), &row.path, Vec::new())? {
            tracing::warn!(
                "the restore of {id} to {path} was interrupted; it is kept, because it has other changes"
            );
            return self.finish_restore(row);
        }
        tracing::warn!(
            "removing {path}: its restore was interrupted; repeat it with: git paw undo restore {id}"
        );
        self.try_undo_creation(row, lock)
    }
}

/// The rescue that is being restored in this unfinished worktree.
pub(crate) fn find_restoring(row: &ManagedWorktree) -> Option<&str> {
    row.message.as_deref()?.strip_prefix(RESTORING)
}

fn restoring_row(repo: &Repo, id: &str, dir: &Path) -> Result<ManagedWorktree, WorktreeError> {
    let (rescue, tip) = rescue::require_with_tip(repo, id)?;
    let path = real_path(dir, repo)?;
    let name = repository_path(&repo.common_dir);
    let exists = match &rescue.branch {
        Some(branch) => repo.git().find_tip(branch)?.is_some(),
        None => true,
    };
    // A detached worktree has a row only until it is complete.
    let branch = rescue.branch.map_or_else(|| BranchName::new("detached"), Ok)?;
    let now = now();
    Ok(ManagedWorktree {
        id: WorktreeId::generate(),
        name: name_of(&path, &name),
        topmost_made: topmost_missing(&path),
        path,
        repo: name,
        common_dir: repo.common_dir.clone(),
        branch,
        status: WorktreeStatus::Creating,
        message: Some(format!("{RESTORING}{}", rescue.id)),
        created_branch: !exists,
        start: tip.unwrap_or_default(),
        admin_dir: None,
        setup: SetupOutcome { status: SetupStatus::None, error: None },
        adopted: false,
        created_at: now,
        updated_at: now,
    })
}
