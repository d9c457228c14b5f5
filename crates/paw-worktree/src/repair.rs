//! Rebuilds a damaged registry from git's own list of worktrees.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::DataDir;
use paw_host::files;
use paw_host::git::Repo;
use paw_host::sqlite;

use crate::error::WorktreeError;
use crate::registry::MIGRATIONS;
use crate::service::Worktrees;

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryRepair {
    /// The damaged file.
    pub aside: PathBuf,
    pub adopted: Vec<PathBuf>,
    /// Worktrees that could not be adopted, and why.
    pub skipped: Vec<(PathBuf, String)>,
}

/// What is wrong with the registry. Reads the whole file.
pub fn find_damage(data_dir: &Path) -> Option<String> {
    sqlite::find_damage(&DataDir::of(data_dir).registry(), &MIGRATIONS)
}

/// Sets a damaged registry aside, and adopts the linked worktrees of these repositories into a new one. Checkouts in our data
/// directory and detached ones are not adopted: they belong to a single run.
pub fn repair(data_dir: &Path, repos: &[Repo], now: Timestamp) -> Result<RegistryRepair, WorktreeError> {
    let aside = files::set_aside(&DataDir::of(data_dir).registry(), now)?;
    let worktrees = Worktrees::open(data_dir)?;
    let (mut adopted, mut skipped) = (Vec::new(), Vec::new());
    for repo in repos {
        let listed = repo.git().worktrees()?;
        let own = listed.into_iter().skip(1).filter(|one| one.branch().is_some() && one.path.is_dir());
        for one in own.filter(|one| !one.path.starts_with(data_dir)) {
            match worktrees.adopt(&one.path) {
                Ok(row) => adopted.push(row.path),
                Err(WorktreeError::AlreadyRegistered { .. }) => {}
                Err(error) => skipped.push((one.path, error.to_string())),
            }
        }
    }
    Ok(RegistryRepair { aside, adopted, skipped })
}
