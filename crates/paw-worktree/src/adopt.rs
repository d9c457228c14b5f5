//! Adopting a worktree that was created by plain git.

use std::path::Path;

use paw_host::git;

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::list::{list_worktrees_with_retry, name_of};
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::service::{Worktrees, now, repository_path, require_repository};
use crate::setup::{SetupOutcome, SetupStatus};

impl Worktrees {
    /// Registers the linked worktree at `path`. The worktree itself does not change.
    pub fn adopt(&self, path: &Path) -> Result<ManagedWorktree, WorktreeError> {
        let not_a_worktree = || WorktreeError::NotAWorktree(path.to_path_buf());
        let real = path.canonicalize().map_err(|_| not_a_worktree())?;
        let repo = require_repository(&real)?;
        let listed = list_worktrees_with_retry(&repo.git(), &repo.common_dir)?;
        let entry = listed.iter().skip(1).find(|entry| entry.path == real).ok_or_else(not_a_worktree)?;
        let Some(branch) = entry.branch() else {
            return Err(WorktreeError::InvalidPath { path: real, problem: "has no branch checked out" });
        };
        let name = repository_path(&repo.common_dir);
        if let Some(row) = self.registry.load_rows(Some(&name))?.into_iter().find(|row| row.path == real) {
            return Err(WorktreeError::AlreadyRegistered { id: row.id, path: real });
        }
        let now = now();
        let row = ManagedWorktree {
            id: WorktreeId::generate(),
            name: name_of(&real, &name),
            repo: name,
            common_dir: repo.common_dir.clone(),
            branch: branch.clone(),
            status: WorktreeStatus::Active,
            message: None,
            created_branch: false,
            start: entry.commit.clone().unwrap_or_default(),
            admin_dir: git::find_linked_admin_dir(&real),
            topmost_made: real.clone(),
            setup: SetupOutcome { status: SetupStatus::None, error: None },
            adopted: true,
            created_at: now,
            updated_at: now,
            path: real,
        };
        self.registry.insert(&row)?;
        Ok(row)
    }
}
