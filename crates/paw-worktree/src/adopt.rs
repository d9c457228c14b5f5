//! Taking in a worktree that plain git made.

use std::path::Path;

use paw_host::git;

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::list::{name_of, worktrees_patiently};
use crate::registry::{Status, Worktree};
use crate::service::{Worktrees, now, repository_name, require_repository};
use crate::setup::{SetupOutcome, SetupStatus};

impl Worktrees {
    /// Gives the linked worktree at `path` a row. Nothing about the worktree itself changes.
    pub fn adopt(&self, path: &Path) -> Result<Worktree, WorktreeError> {
        let not_one = || WorktreeError::NotAWorktree(path.to_path_buf());
        let real = path.canonicalize().map_err(|_| not_one())?;
        let repo = require_repository(&real)?;
        let listed = worktrees_patiently(&repo.git(), &repo.common_dir)?;
        let entry = listed.iter().skip(1).find(|entry| entry.path == real).ok_or_else(not_one)?;
        let Some(branch) = entry.branch() else {
            return Err(WorktreeError::InvalidPath { path: real, problem: "has no branch checked out" });
        };
        let name = repository_name(&repo.common_dir);
        if let Some(row) = self.registry.rows(Some(&name))?.into_iter().find(|row| row.path == real) {
            return Err(WorktreeError::Registered { id: row.id, path: real });
        }
        let now = now();
        let row = Worktree {
            id: WorktreeId::generate(),
            name: name_of(&real, &name),
            repo: name,
            common_dir: repo.common_dir.clone(),
            branch: branch.clone(),
            status: Status::Active,
            message: None,
            created_branch: false,
            start: entry.commit.clone().unwrap_or_default(),
            admin_dir: git::admin_dir_named_in(&real),
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
