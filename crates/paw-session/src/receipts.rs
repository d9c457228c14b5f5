//! The receipts on disk: one JSON file per session, written whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_core::paths::SessionsDir;
use paw_core::{Diagnostic, ErrorCode, ErrorReport, Receipt, ReceiptError, SessionName, SessionStatus};
use paw_host::files::{self, Access, FileError};
use paw_host::locks::ReceiptsLock;
use serde_json::Value;

/// A receipt that could not be read, written or removed.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptsError {
    #[error("cannot use {}: {problem}", path.display())]
    Receipt { path: PathBuf, problem: ReceiptError },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot list {}: {source}", dir.display())]
    List { dir: PathBuf, source: io::Error },
    #[error("cannot remove {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
}

impl Diagnostic for ReceiptsError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Receipt { problem, .. } => report.with_hints(problem.report().hints),
            Self::File(error) => error.report(),
            Self::List { .. } | Self::Remove { .. } => report,
        }
    }
}

/// A file among the receipts that is none we can read. It is never deleted.
#[derive(Debug)]
pub struct Unreadable {
    pub path: PathBuf,
    pub problem: ReceiptError,
    /// The repository it names, if it names one.
    repo_path: Option<PathBuf>,
}

/// Everything in the directory of receipts.
#[derive(Debug, Default)]
pub struct Listing {
    /// By name.
    pub receipts: Vec<Receipt>,
    pub unreadable: Vec<Unreadable>,
}

impl Listing {
    /// The session of a repository. Of several, one that was left running beats a stopped one, and a younger one an
    /// older one.
    pub fn find_for_repo(&self, repo_path: &Path) -> Option<&Receipt> {
        let rank = |receipt: &&Receipt| (receipt.status != SessionStatus::Stopped, receipt.created_at);
        self.receipts.iter().filter(|receipt| same_place(&receipt.repo_path, repo_path)).max_by_key(rank)
    }

    /// Whether a file of that name is there, readable or not.
    pub fn has_name(&self, name: &SessionName) -> bool {
        let is_it = |path: &Path| path.file_stem().is_some_and(|stem| stem == name.as_str());
        self.receipts.iter().any(|receipt| receipt.session_name == *name)
            || self.unreadable.iter().any(|file| is_it(&file.path))
    }
}

fn same_place(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The directory of receipts. Nothing needs to exist before the first one is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipts {
    dir: SessionsDir,
}

impl Receipts {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: SessionsDir::of(dir) }
    }

    pub fn dir(&self) -> &SessionsDir {
        &self.dir
    }

    /// Waits until no other process writes or deletes a receipt.
    pub fn lock(&self) -> Result<ReceiptsLock, ReceiptsError> {
        Ok(ReceiptsLock::wait(&self.dir)?)
    }

    /// Writes a whole receipt, of a new session or in the place of an older one.
    pub fn save(&self, receipt: &Receipt, _lock: &ReceiptsLock) -> Result<(), ReceiptsError> {
        let path = self.dir.receipt(&receipt.session_name);
        let text =
            receipt.to_text().map_err(|problem| ReceiptsError::Receipt { path: path.clone(), problem })?;
        Ok(files::write_atomic(&path, text.as_bytes(), Access::Private)?)
    }

    /// Writes a receipt in the place of another one, which may have another name.
    pub fn replace(
        &self,
        before: &SessionName,
        receipt: &Receipt,
        lock: &ReceiptsLock,
    ) -> Result<(), ReceiptsError> {
        self.save(receipt, lock)?;
        if receipt.session_name == *before { Ok(()) } else { self.delete(before, lock) }
    }

    /// The receipt of a session, or nothing when there is none.
    pub fn load(&self, name: &SessionName) -> Result<Option<Receipt>, ReceiptsError> {
        let path = self.dir.receipt(name);
        let Some(text) = files::load_text(&path)? else { return Ok(None) };
        Receipt::parse(&text).map(Some).map_err(|problem| ReceiptsError::Receipt { path, problem })
    }

    /// Changes a receipt that exists. One that was deleted is not created again: then the answer is nothing.
    pub fn update<T>(
        &self,
        name: &SessionName,
        lock: &ReceiptsLock,
        change: impl FnOnce(&mut Receipt) -> T,
    ) -> Result<Option<T>, ReceiptsError> {
        let Some(mut receipt) = self.load(name)? else { return Ok(None) };
        let answer = change(&mut receipt);
        self.save(&receipt, lock)?;
        Ok(Some(answer))
    }

    /// The session of a repository, or nothing. A receipt of a newer version that names the repository is an error:
    /// a second session over the same worktrees would be worse.
    pub fn find_for_repo(&self, repo_path: &Path) -> Result<Option<Receipt>, ReceiptsError> {
        let mut listing = self.all()?;
        if let Some(found) = listing.find_for_repo(repo_path) {
            return Ok(Some(found.clone()));
        }
        let ours = |file: &Unreadable| {
            matches!(file.problem, ReceiptError::Newer { .. })
                && file.repo_path.as_deref().is_some_and(|path| same_place(path, repo_path))
        };
        match listing.unreadable.iter().position(ours) {
            Some(at) => {
                let Unreadable { path, problem, .. } = listing.unreadable.swap_remove(at);
                Err(ReceiptsError::Receipt { path, problem })
            }
            None => Ok(None),
        }
    }

    /// Deletes a session's receipt. One that is gone already is fine.
    pub fn delete(&self, name: &SessionName, _lock: &ReceiptsLock) -> Result<(), ReceiptsError> {
        let path = self.dir.receipt(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(ReceiptsError::Remove { path, source })
            }
            _ => Ok(()),
        }
    }

    /// All of them. What cannot be read is named beside the rest.
    pub fn all(&self) -> Result<Listing, ReceiptsError> {
        let list = |source| ReceiptsError::List { dir: self.dir.path().to_path_buf(), source };
        let entries = match fs::read_dir(self.dir.path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
            Err(error) => return Err(list(error)),
        };
        let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut paths = paths.map_err(list)?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let mut listing = Listing::default();
        for path in paths {
            // One that vanishes meanwhile was deleted by another process.
            let Ok(bytes) = fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            match Receipt::parse(&text) {
                Ok(receipt) => listing.receipts.push(receipt),
                Err(problem) => {
                    let value: Value = serde_json::from_str(&text).unwrap_or_default();
                    let repo_path = value["repo_path"].as_str().map(PathBuf::from);
                    listing.unreadable.push(Unreadable { path, problem, repo_path });
                }
            }
        }
        Ok(listing)
    }
}
