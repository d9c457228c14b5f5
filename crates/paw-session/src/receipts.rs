//! The receipts on disk: one JSON file per session, written atomically.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::SessionsDir;
use paw_core::{
    AgentId, Diagnostic, ErrorCode, ErrorReport, Receipt, ReceiptError, SessionName, SessionStatus,
};
use paw_host::files::{self, Access, FileError};
use paw_host::locks::ReceiptsLock;
use serde_json::Value;

/// Why a receipt could not be read, written or removed.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptsError {
    #[error("cannot use {}: {problem}", path.display())]
    Receipt { path: PathBuf, problem: ReceiptError },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot list {}: {source}", dir.display())]
    List { dir: PathBuf, source: io::Error },
}

impl Diagnostic for ReceiptsError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Receipt { problem, .. } => report.with_hints(problem.report().hints),
            Self::File(error) => error.report(),
            Self::List { .. } => report,
        }
    }
}

/// A file in the receipts directory that cannot be parsed. It is never deleted.
#[derive(Debug)]
pub struct UnreadableReceipt {
    pub path: PathBuf,
    pub problem: ReceiptError,
    /// The repository it names, if it names one.
    repo_path: Option<PathBuf>,
}

/// What a repair did with one damaged receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptRepair {
    pub path: PathBuf,
    pub aside: PathBuf,
    /// Whether its copy took its place.
    pub restored: bool,
}

/// All files in the receipts directory.
#[derive(Debug, Default)]
pub struct ReceiptListing {
    /// Sorted by name.
    pub receipts: Vec<Receipt>,
    pub unreadable: Vec<UnreadableReceipt>,
}

impl ReceiptListing {
    /// The session of a repository. If there are several, prefers one that is not stopped, then the newest.
    pub fn find_for_repo(&self, repo_path: &Path) -> Option<&Receipt> {
        let rank = |receipt: &&Receipt| (receipt.status != SessionStatus::Stopped, receipt.created_at);
        self.receipts.iter().filter(|receipt| is_same_path(&receipt.repo_path, repo_path)).max_by_key(rank)
    }

    /// Whether a file of that name exists, readable or not.
    pub fn has_name(&self, name: &SessionName) -> bool {
        let is_it = |path: &Path| path.file_stem().is_some_and(|stem| stem == name.as_str());
        self.receipts.iter().any(|receipt| receipt.session_name == *name)
            || self.unreadable.iter().any(|file| is_it(&file.path))
    }
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The receipts directory. It is created when the first receipt is saved.
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

    /// Writes a receipt, or replaces it.
    pub fn save(&self, receipt: &Receipt, _lock: &ReceiptsLock) -> Result<(), ReceiptsError> {
        let path = self.dir.receipt(&receipt.session_name);
        let text =
            receipt.to_text().map_err(|problem| ReceiptsError::Receipt { path: path.clone(), problem })?;
        files::write_atomic(&path, text.as_bytes(), Access::Private)?;
        // A copy, for a repair. The session works without it.
        let _ =
            files::write_atomic(&self.dir.backup(&receipt.session_name), text.as_bytes(), Access::Private);
        Ok(())
    }

    /// Sets damaged receipts aside, and restores each from the copy that its last writer made. Receipts of newer versions
    /// are not damaged.
    pub fn repair(&self, _lock: &ReceiptsLock, now: Timestamp) -> Result<Vec<ReceiptRepair>, ReceiptsError> {
        let mut repairs = Vec::new();
        for UnreadableReceipt { path, problem, .. } in self.all()?.unreadable {
            if matches!(problem, ReceiptError::Newer { .. }) {
                continue;
            }
            let aside = files::set_aside(&path, now)?;
            let name = path.file_stem().and_then(|stem| SessionName::new(stem.to_string_lossy()).ok());
            let copy = name.and_then(|name| files::load_text(&self.dir.backup(&name)).ok().flatten());
            let copy = copy.filter(|text| Receipt::parse(text).is_ok());
            if let Some(copy) = &copy {
                files::write_atomic(&path, copy.as_bytes(), Access::Private)?;
            }
            repairs.push(ReceiptRepair { path, aside, restored: copy.is_some() });
        }
        Ok(repairs)
    }

    /// Replaces the receipt `before`, which may have another name.
    pub fn replace(
        &self,
        before: &SessionName,
        receipt: &Receipt,
        lock: &ReceiptsLock,
    ) -> Result<(), ReceiptsError> {
        self.save(receipt, lock)?;
        if receipt.session_name == *before { Ok(()) } else { self.delete(before, lock) }
    }

    /// The receipt of a session, if it exists.
    pub fn load(&self, name: &SessionName) -> Result<Option<Receipt>, ReceiptsError> {
        let path = self.dir.receipt(name);
        let Some(text) = files::load_text(&path)? else { return Ok(None) };
        Receipt::parse(&text).map(Some).map_err(|problem| ReceiptsError::Receipt { path, problem })
    }

    /// Changes an existing receipt. Returns `None` if it was deleted, and does not create it again.
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

    /// The agent in whose worktree a directory is.
    pub fn find_agent_in(&self, dir: &Path) -> Option<AgentId> {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let is_inside = |worktree: &Path| {
            dir.starts_with(worktree) || worktree.canonicalize().is_ok_and(|real| dir.starts_with(real))
        };
        let agents = self.all().ok()?.receipts.into_iter().flat_map(|receipt| {
            let ids = receipt.agent_ids();
            ids.into_iter().zip(receipt.worktrees)
        });
        // The innermost, if one worktree is inside another.
        let found = agents.filter(|(_, agent)| is_inside(&agent.worktree_path));
        found.max_by_key(|(_, agent)| agent.worktree_path.components().count()).map(|(id, _)| id)
    }

    /// The session of a repository, if it has one. A receipt written by a newer version is an error, because a second
    /// session would use the same worktrees.
    pub fn find_for_repo(&self, repo_path: &Path) -> Result<Option<Receipt>, ReceiptsError> {
        let mut listing = self.all()?;
        if let Some(found) = listing.find_for_repo(repo_path) {
            return Ok(Some(found.clone()));
        }
        let ours = |file: &UnreadableReceipt| {
            matches!(file.problem, ReceiptError::Newer { .. })
                && file.repo_path.as_deref().is_some_and(|path| is_same_path(path, repo_path))
        };
        match listing.unreadable.iter().position(ours) {
            Some(at) => {
                let UnreadableReceipt { path, problem, .. } = listing.unreadable.swap_remove(at);
                Err(ReceiptsError::Receipt { path, problem })
            }
            None => Ok(None),
        }
    }

    /// Deletes a session's receipt, if it exists.
    pub fn delete(&self, name: &SessionName, _lock: &ReceiptsLock) -> Result<(), ReceiptsError> {
        let _ = fs::remove_file(self.dir.backup(name));
        Ok(files::delete_file(&self.dir.receipt(name)).map(drop)?)
    }

    /// All receipts, and the files that cannot be parsed.
    pub fn all(&self) -> Result<ReceiptListing, ReceiptsError> {
        let list = |source| ReceiptsError::List { dir: self.dir.path().to_path_buf(), source };
        let entries = match fs::read_dir(self.dir.path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReceiptListing::default()),
            Err(error) => return Err(list(error)),
        };
        let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut paths = paths.map_err(list)?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let mut listing = ReceiptListing::default();
        for path in paths {
            // Another process may have deleted it in the meantime.
            let Ok(bytes) = fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            match Receipt::parse(&text) {
                Ok(receipt) => listing.receipts.push(receipt),
                Err(problem) => {
                    let value: Value = serde_json::from_str(&text).unwrap_or_default();
                    let repo_path = value["repo_path"].as_str().map(PathBuf::from);
                    listing.unreadable.push(UnreadableReceipt { path, problem, repo_path });
                }
            }
        }
        Ok(listing)
    }
}
