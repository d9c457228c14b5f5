//! Finding one worktree by its id or name, and entering it.

use std::path::Path;

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::list::Listing;
use crate::registry::{Status, Worktree};
use crate::service::{Worktrees, repository_name, require_repository};

/// The worktree to enter, and the one of the same repository that was entered before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    pub worktree: Worktree,
    pub previous_worktree_id: Option<WorktreeId>,
}

impl Worktrees {
    /// Remembers that this worktree is entered now. Its directory must be there.
    pub fn switch(&self, id_or_name: &str, repo: Option<&Path>) -> Result<Switched, WorktreeError> {
        let worktree = self.require_usable(id_or_name, repo)?;
        let previous_worktree_id = self.registry.switch_to(&worktree)?;
        Ok(Switched { worktree, previous_worktree_id })
    }

    /// A worktree that somebody can work in.
    pub fn require_usable(&self, id_or_name: &str, repo: Option<&Path>) -> Result<Worktree, WorktreeError> {
        let row = self.refresh(self.require(id_or_name, repo)?)?;
        match row.status {
            Status::Active => Ok(row),
            Status::Stale => Err(WorktreeError::DirectoryMissing { path: row.path }),
            Status::Broken => {
                Err(WorktreeError::Broken { path: row.path, problem: row.message.unwrap_or_default() })
            }
            Status::Creating | Status::Removing => Err(WorktreeError::Busy { id: row.id }),
        }
    }

    /// The row with this id, or the only one with this name. Names are looked for in the repository that `repo` lies in
    /// first, then everywhere.
    pub fn require(&self, id_or_name: &str, repo: Option<&Path>) -> Result<Worktree, WorktreeError> {
        self.recover()?;
        let rows = self.registry.rows(None)?;
        if let Some(row) = rows.iter().find(|row| row.id.as_str() == id_or_name) {
            return Ok(row.clone());
        }
        let mut named: Vec<&Worktree> = rows.iter().filter(|row| row.name == id_or_name).collect();
        if named.len() > 1
            && let Some(repo) = repo.and_then(|dir| require_repository(dir).ok())
        {
            let here = repository_name(&repo.common_dir);
            if named.iter().any(|row| row.repo == here) {
                named.retain(|row| row.repo == here);
            }
        }
        match named.as_slice() {
            [] => Err(WorktreeError::Unknown(id_or_name.to_owned())),
            [row] => Ok((*row).clone()),
            several => Err(WorktreeError::Ambiguous {
                name: id_or_name.to_owned(),
                ids: several.iter().map(|row| row.id.clone()).collect(),
            }),
        }
    }
}

impl Listing {
    pub fn is_empty(&self) -> bool {
        self.worktrees.is_empty() && self.unmanaged.is_empty()
    }
}
