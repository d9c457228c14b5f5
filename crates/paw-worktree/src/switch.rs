//! Finding a worktree by id or name, and switching to it.

use std::path::Path;

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::service::{Worktrees, repository_path, require_repository};

/// The worktree to switch to, and the previous one of the same repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedWorktree {
    pub worktree: ManagedWorktree,
    pub previous_worktree_id: Option<WorktreeId>,
}

impl Worktrees {
    /// Records the switch to this worktree. Its directory must exist.
    pub fn switch(&self, id_or_name: &str, repo: Option<&Path>) -> Result<SwitchedWorktree, WorktreeError> {
        let worktree = self.require_usable(id_or_name, repo)?;
        let previous_worktree_id = self.registry.switch_to(&worktree)?;
        Ok(SwitchedWorktree { worktree, previous_worktree_id })
    }

    /// The worktree, if its directory exists and is linked.
    pub fn require_usable(
        &self,
        id_or_name: &str,
        repo: Option<&Path>,
    ) -> Result<ManagedWorktree, WorktreeError> {
        let row = self.refresh(self.require(id_or_name, repo)?)?;
        match row.status {
            WorktreeStatus::Active => Ok(row),
            WorktreeStatus::Stale => Err(WorktreeError::DirectoryMissing { path: row.path }),
            WorktreeStatus::Broken => {
                Err(WorktreeError::Broken { path: row.path, problem: row.message.unwrap_or_default() })
            }
            WorktreeStatus::Creating | WorktreeStatus::Removing => Err(WorktreeError::Busy { id: row.id }),
        }
    }

    /// The row with this id, or the only one with this name. The repository that `repo` is in takes precedence over
    /// others.
    pub fn require(&self, id_or_name: &str, repo: Option<&Path>) -> Result<ManagedWorktree, WorktreeError> {
        self.recover()?;
        let rows = self.registry.load_rows(None)?;
        let found = find_rows(&rows, id_or_name);
        if found.len() < 2 {
            return require_one(id_or_name, &found);
        }
        let (here, elsewhere) = split_by_repository(found, repo);
        require_one(id_or_name, if here.is_empty() { &elsewhere } else { &here })
    }

    /// Like [`Worktrees::require`], for destructive operations: inside a repository, a name never matches a worktree of
    /// another repository.
    pub(crate) fn require_in_repository(
        &self,
        id_or_name: &str,
        repo: Option<&Path>,
    ) -> Result<ManagedWorktree, WorktreeError> {
        self.recover()?;
        let rows = self.registry.load_rows(None)?;
        let found = find_rows(&rows, id_or_name);
        if repo.is_none() || found.iter().any(|row| row.id.as_str() == id_or_name) {
            return require_one(id_or_name, &found);
        }
        let (here, elsewhere) = split_by_repository(found, repo);
        if here.is_empty() && !elsewhere.is_empty() {
            let ids = elsewhere.into_iter().map(|row| row.id.clone()).collect();
            return Err(WorktreeError::InOtherRepository { name: id_or_name.to_owned(), ids });
        }
        require_one(id_or_name, &here)
    }
}

/// The row with this id, or all rows with this name.
fn find_rows<'a>(rows: &'a [ManagedWorktree], id_or_name: &str) -> Vec<&'a ManagedWorktree> {
    match rows.iter().find(|row| row.id.as_str() == id_or_name) {
        Some(row) => vec![row],
        None => rows.iter().filter(|row| row.name == id_or_name).collect(),
    }
}

/// Splits rows into those of the repository that `repo` is in, and the others.
fn split_by_repository<'a>(
    found: Vec<&'a ManagedWorktree>,
    repo: Option<&Path>,
) -> (Vec<&'a ManagedWorktree>, Vec<&'a ManagedWorktree>) {
    let repo = repo.and_then(|dir| require_repository(dir).ok());
    let here = repo.map(|repo| repository_path(&repo.common_dir));
    found.into_iter().partition(|row| Some(&row.repo) == here.as_ref())
}

fn require_one(name: &str, found: &[&ManagedWorktree]) -> Result<ManagedWorktree, WorktreeError> {
    match found {
        [] => Err(WorktreeError::Unknown(name.to_owned())),
        [row] => Ok((*row).clone()),
        several => Err(WorktreeError::Ambiguous {
            name: name.to_owned(),
            ids: several.iter().map(|row| row.id.clone()).collect(),
        }),
    }
}
