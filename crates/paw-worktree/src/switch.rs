//! Finding a worktree by id or name, and switching to it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::PawDir;
use paw_host::files::{self, Access};

use crate::checkout::{self, Checkout, CheckoutKind};
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

/// The checkout to switch to, and the managed worktree that was entered before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedCheckout {
    pub checkout: Checkout,
    /// The row of a managed worktree.
    pub managed: Option<ManagedWorktree>,
    pub previous_worktree_id: Option<WorktreeId>,
}

/// What a person types for the checkout they came from.
const PREVIOUS: &str = "-";

impl Worktrees {
    /// Switches from the checkout that `from` is in to the one that `name` means: an id, a name, a branch or a unique
    /// prefix, `main` for the main checkout, `-` for the previous one.
    pub fn switch_checkout(&self, name: &str, from: &Path) -> Result<SwitchedCheckout, WorktreeError> {
        let repo = require_repository(from)?;
        let listing = self.list(Some(from))?;
        let checkouts = listing.checkouts();
        let history = PawDir::of(&repo.common_dir).previous_checkout();
        let found = if name == PREVIOUS {
            let previous = load_previous(&history).ok_or(WorktreeError::NoPrevious)?;
            Some(checkouts.iter().find(|one| one.path == previous).ok_or(WorktreeError::NoPrevious)?)
        } else {
            checkout::find(name, &checkouts)?
        };
        let switched = match found.map(|found| (found, &found.kind)) {
            Some((found, CheckoutKind::Managed { id, .. })) => {
                let SwitchedWorktree { worktree, previous_worktree_id } =
                    self.switch(id.as_str(), Some(from))?;
                let checkout = Checkout { path: worktree.path.clone(), ..found.clone() };
                SwitchedCheckout { checkout, managed: Some(worktree), previous_worktree_id }
            }
            Some((found, _)) if found.is_present() => {
                SwitchedCheckout { checkout: found.clone(), managed: None, previous_worktree_id: None }
            }
            Some((found, _)) => return Err(WorktreeError::DirectoryMissing { path: found.path.clone() }),
            // A worktree of another repository.
            None => {
                let SwitchedWorktree { worktree, previous_worktree_id } = self.switch(name, Some(from))?;
                let checkout = Checkout::of(&worktree);
                SwitchedCheckout { checkout, managed: Some(worktree), previous_worktree_id }
            }
        };
        let here = repo.worktree.as_ref().filter(|here| **here != switched.checkout.path);
        if let Some(here) = here {
            // Only `switch -` needs it, and says so without it.
            let _ = files::write_atomic(&history, here.as_os_str().as_bytes(), Access::Private);
        }
        Ok(switched)
    }

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
        if here.is_empty()
            && let Some(row) = find_here(id_or_name, &rows, repo)?
        {
            return Ok(row);
        }
        if here.is_empty() && !elsewhere.is_empty() {
            let ids = elsewhere.into_iter().map(|row| row.id.clone()).collect();
            return Err(WorktreeError::InOtherRepository { name: id_or_name.to_owned(), ids });
        }
        require_one(id_or_name, &here)
    }
}

fn load_previous(history: &Path) -> Option<PathBuf> {
    let path = fs::read(history).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(&path)))
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

/// The row of this repository with this branch, or with a name or branch that only it starts with.
fn find_here(
    name: &str,
    rows: &[ManagedWorktree],
    repo: Option<&Path>,
) -> Result<Option<ManagedWorktree>, WorktreeError> {
    let (here, _) = split_by_repository(rows.iter().collect(), repo);
    let checkouts: Vec<_> = here.iter().map(|row| Checkout::of(row)).collect();
    let found = checkout::find(name, &checkouts)?;
    Ok(found.and_then(|found| here.iter().find(|row| row.path == found.path)).map(|row| (*row).clone()))
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
