//! Specs: the tasks of agents, found in the repository in the format of OpenSpec, Markdown, Spec Kit or Superpowers.
//!
//! - [`scan`]: all open specs
//! - [`resolve`], [`select_units`], [`select_all`]: selects some or all of them and checks their branches
//! - [`units`]: the rows of the picker
//! - [`references`]: which specs refer to others
//! - [`find_uncommitted`]: specs that a new worktree would not contain
//! - [`find_assigned`], [`find_all`]: specs that a session's agents work on
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
use paw_core::receipt::SpecReceipt;
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
    /// The file or directory it was read from. Empty if the hub sent it.
    pub path: PathBuf,
    pub kind: SpecFormat,
}

impl SpecEntry {
    /// A spec whose content the hub has sent.
    pub fn of_receipt(sent: SpecReceipt, branch: BranchName) -> Self {
        let SpecReceipt { id, kind, prompt, owned_files } = sent;
        Self { unit: id.clone(), id, branch, cli: None, prompt, owned_files, path: PathBuf::new(), kind }
    }

    /// Its content, for another machine.
    pub fn to_receipt(&self) -> SpecReceipt {
        let (id, prompt) = (self.id.clone(), self.prompt.clone());
        SpecReceipt { id, kind: self.kind, prompt, owned_files: self.owned_files.clone() }
    }

    pub fn is_sent(&self) -> bool {
        self.path.as_os_str().is_empty()
    }
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
    let agents = &receipt.worktrees;
    let sent = agents.iter().filter_map(|agent| Some((agent.sent_spec.clone()?, agent.branch.clone())));
    let mut found: Vec<_> = sent.map(|(sent, branch)| SpecEntry::of_receipt(sent, branch)).collect();
    let wanted = agents.iter().filter(|agent| agent.sent_spec.is_none());
    let wanted: Vec<_> = wanted.filter_map(|agent| agent.spec.as_deref()).collect();
    found.extend(find_all(&wanted, repo_root, config));
    found
}

/// The specs with these ids, except for deleted ones.
pub fn find_all(ids: &[&str], repo_root: &Path, config: &PawConfig) -> Vec<SpecEntry> {
    if ids.is_empty() {
        return Vec::new();
    }
    let scan = scan(repo_root, config.specs.as_ref(), None, &config.branch_prefix());
    let is_wanted = |spec: &SpecEntry| ids.contains(&spec.id.as_str());
    scan.map(|scan| scan.entries.into_iter().filter(is_wanted).collect()).unwrap_or_default()
}
