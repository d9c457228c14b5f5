//! Specs: what agents are to do, found in the repository as OpenSpec, Markdown, Spec Kit or Superpowers has them.
//!
//! - [`scan`]: every spec that is to be worked on
//! - [`resolve`], [`take_units`], [`take_all`]: some or all of them, checked as a whole
//! - [`units`]: the rows of a picker
//! - [`find_uncommitted`]: those that a new worktree would not have
//! - [`find_assigned`]: those that a session's agents work on
//!
//! Inside: `source` decides which format is read and where, `folder` is the door to the files, and every format has
//! a file of its own.

mod assigned;
mod distinct;
mod error;
mod folder;
mod markdown;
mod openspec;
mod owned;
mod resolve;
mod slug;
mod source;
mod speckit;
mod superpowers;
mod uncommitted;
mod unit;

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_core::config::{BranchPrefix, SpecsConfig};

pub use assigned::find_assigned;
pub use error::SpecError;
pub use paw_core::config::SpecType as SpecFormat;
pub use resolve::{resolve, take_all, take_units};
pub use uncommitted::find_uncommitted;
pub use unit::{Unit, units};

use folder::Folder;
use source::Source;

/// What one agent is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecEntry {
    /// Its name for `--specs`.
    pub id: String,
    /// What it is a part of: a feature of Spec Kit; itself in every other format.
    pub unit: String,
    pub branch: BranchName,
    /// The CLI it asks for.
    pub cli: Option<String>,
    /// What the agent is told.
    pub prompt: String,
    /// The files it says are its own.
    pub owned_files: Vec<String>,
    /// The file or directory it was read from.
    pub path: PathBuf,
    pub kind: SpecFormat,
}

/// What a look at the specs has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    pub entries: Vec<SpecEntry>,
    /// What was passed over, and why.
    pub warnings: Vec<String>,
    pub format: SpecFormat,
    /// Where they are, as a path in the repository.
    pub dir: PathBuf,
}

/// Every spec of a repository that is to be worked on, in the order of their names.
///
/// `format` is what the command line asks for. A spec that cannot be used is passed over with a warning.
pub fn scan(
    repo_root: &Path,
    config: Option<&SpecsConfig>,
    format: Option<SpecFormat>,
    prefix: &BranchPrefix,
) -> Result<Scan, SpecError> {
    let Source { format, dir } = source::choose(format, config, |dir| repo_root.join(dir).is_dir());
    let mut folder = Folder::open(repo_root, &dir, format)?;
    let entries = match format {
        SpecFormat::Openspec => openspec::scan(&mut folder, prefix),
        SpecFormat::Markdown => markdown::scan(&mut folder, prefix),
        SpecFormat::Speckit => speckit::scan(&mut folder),
        SpecFormat::Superpowers => superpowers::scan(&mut folder),
    }?;
    Ok(Scan { entries, warnings: folder.into_warnings(), format, dir })
}
