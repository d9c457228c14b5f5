//! Specs: the tasks of agents, found in the repository in the format of OpenSpec, Markdown, Spec Kit or Superpowers.
//!
//! - [`scan`]: all open specs
//! - [`resolve`], [`select_units`], [`select_all`]: selects some or all of them and checks their branches
//! - [`units`]: the rows of the picker
//! - [`references`]: which specs refer to others
//! - [`find_uncommitted`]: specs that a new worktree would not contain
//! - [`find_assigned`]: specs that a session's agents work on
//!
//! Inside: `source` finds the directory and the format, `folder` reads the files, `text` parses them, and every format has
//! its own file.

mod error;
mod folder;
mod markdown;
mod openspec;
mod references;
mod resolve;
mod source;
mod speckit;
mod superpowers;
mod text;
mod uncommitted;
mod unit;

use std::path::{Path, PathBuf};

use paw_core::config::{BranchPrefix, PawConfig, SpecsConfig};
use paw_core::{BranchName, Receipt};

pub use error::SpecError;
pub use paw_core::config::SpecType as SpecFormat;
pub use references::references;
pub use resolve::{resolve, select_all, select_units};
pub use uncommitted::find_uncommitted;
pub use unit::{SpecUnit, units};

use folder::Folder;

/// The task of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecEntry {
    /// Its name for `--specs`.
    pub id: String,
    /// The Spec Kit feature it belongs to. In other formats the same as `id`.
    pub unit: String,
    pub branch: BranchName,
    /// The CLI it requests.
    pub cli: Option<String>,
    /// The text for the agent.
    pub prompt: String,
    /// The files it claims.
    pub owned_files: Vec<String>,
    /// The file or directory it was read from.
    pub path: PathBuf,
    pub kind: SpecFormat,
}

/// The result of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecScan {
    pub entries: Vec<SpecEntry>,
    /// Skipped specs, with the reason.
    pub warnings: Vec<String>,
    pub format: SpecFormat,
    /// The directory of the specs, relative to the repository.
    pub dir: PathBuf,
}

/// All open specs of a repository, sorted by name.
///
/// `format` is the command line's choice. Specs that cannot be used are skipped with a warning.
pub fn scan(
    repo_root: &Path,
    config: Option<&SpecsConfig>,
    format: Option<SpecFormat>,
    prefix: &BranchPrefix,
) -> Result<SpecScan, SpecError> {
    let (format, dir) = source::choose(format, config, repo_root)?;
    let mut folder = Folder::open(repo_root, &dir, format)?;
    let entries = match format {
        SpecFormat::Openspec => openspec::scan(&mut folder, prefix),
        SpecFormat::Markdown => markdown::scan(&mut folder, prefix),
        SpecFormat::Speckit => speckit::scan(&mut folder),
        SpecFormat::Superpowers => superpowers::scan(&mut folder),
    }?;
    Ok(SpecScan { entries, warnings: folder.into_warnings(), format, dir })
}

/// The specs of a session's agents, except for deleted ones.
pub fn find_assigned(receipt: &Receipt, repo_root: &Path, config: &PawConfig) -> Vec<SpecEntry> {
    let is_assigned =
        |spec: &SpecEntry| receipt.worktrees.iter().any(|agent| agent.spec.as_ref() == Some(&spec.id));
    if receipt.worktrees.iter().all(|agent| agent.spec.is_none()) {
        return Vec::new();
    }
    let scan = scan(repo_root, config.specs.as_ref(), None, &config.branch_prefix());
    scan.map(|scan| scan.entries.into_iter().filter(is_assigned).collect()).unwrap_or_default()
}
