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
        let found = find(&rows, id_or_name);
        if found.len() < 2 {
            return only_one(id_or_name, &found);
        }
        let (here, elsewhere) = split(found, repo);
        only_one(id_or_name, if here.is_empty() { &elsewhere } else { &here })
    }

    /// Like [`Worktrees::require`] for whoever destroys something: inside of a repository, a name means one of its own
    /// worktrees and never another repository's.
    pub(crate) fn require_own(
        &self,
        id_or_name: &str,
        repo: Option<&Path>,
    ) -> Result<Worktree, WorktreeError> {
        self.recover()?;
        let rows = self.registry.rows(None)?;
        let found = find(&rows, id_or_name);
        if repo.is_none() || found.iter().any(|row| row.id.as_str() == id_or_name) {
            return only_one(id_or_name, &found);
        }
        let (here, elsewhere) = split(found, repo);
        if here.is_empty() && !elsewhere.is_empty() {
            let ids = elsewhere.into_iter().map(|row| row.id.clone()).collect();
            return Err(WorktreeError::OnlyElsewhere { name: id_or_name.to_owned(), ids });
        }
        only_one(id_or_name, &here)
    }
}

/// The row with this id, or all with this name.
fn find<'a>(rows: &'a [Worktree], id_or_name: &str) -> Vec<&'a Worktree> {
    match rows.iter().find(|row| row.id.as_str() == id_or_name) {
        Some(row) => vec![row],
        None => rows.iter().filter(|row| row.name == id_or_name).collect(),
    }
}

/// Those of the repository that `repo` lies in, and the others.
fn split<'a>(found: Vec<&'a Worktree>, repo: Option<&Path>) -> (Vec<&'a Worktree>, Vec<&'a Worktree>) {
    let repo = repo.and_then(|dir| require_repository(dir).ok());
    let here = repo.map(|repo| repository_name(&repo.common_dir));
    found.into_iter().partition(|row| Some(&row.repo) == here.as_ref())
}

fn only_one(name: &str, found: &[&Worktree]) -> Result<Worktree, WorktreeError> {
    match found {
        [] => Err(WorktreeError::Unknown(name.to_owned())),
        [row] => Ok((*row).clone()),
        several => Err(WorktreeError::Ambiguous {
            name: name.to_owned(),
            ids: several.iter().map(|row| row.id.clone()).collect(),
        }),
    }
}

impl Listing {
    pub fn is_empty(&self) -> bool {
        self.worktrees.is_empty() && self.unmanaged.is_empty()
    }
}
