//! The state of a merge on disk, so that the next merge can resume an interrupted one.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::BranchName;
use paw_core::paths::{PawDir, lock_of};
use paw_host::files::{self, Access, FileError, Lock};
use paw_host::git::Repo;
use serde::{Deserialize, Serialize};

use super::MergeError;
use super::plan::MergeEntry;

/// The format this version writes, and the newest it reads.
const FORMAT: u32 = 1;

/// One merge: its plan and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MergeRun {
    pub(super) format: u32,
    pub(super) started_at: Timestamp,
    pub(super) base: BranchName,
    /// The commit of main before the merge.
    pub(super) before: String,
    pub(super) entries: Vec<MergeEntry>,
}

impl MergeRun {
    pub(super) fn new(started_at: Timestamp, base: BranchName, before: String) -> Self {
        Self { format: FORMAT, started_at, base, before, entries: Vec::new() }
    }

    /// The id in its messages, which tells them apart from those of other merges.
    pub(super) fn id(&self) -> String {
        self.started_at.to_string()
    }
}

/// Held while a merge is planned and run, so that only one runs in a repository. A forecast does not need it.
#[derive(Debug)]
pub struct MergeLock {
    _lock: Lock,
}

impl MergeLock {
    pub fn take(repo: &Repo) -> Result<Self, MergeError> {
        let path = PawDir::of(&repo.common_dir).merge_journal();
        let lock = Lock::try_take(&lock_of(&path))?.ok_or(MergeError::Busy)?;
        Ok(Self { _lock: lock })
    }
}

/// The file of the running merge. Only the holder of the lock writes it.
#[derive(Debug)]
pub(super) struct MergeJournal {
    path: PathBuf,
}

impl MergeJournal {
    pub(super) fn of(common_dir: &Path) -> Self {
        Self { path: PawDir::of(common_dir).merge_journal() }
    }

    /// The interrupted merge, if there is one.
    pub(super) fn load(&self) -> Result<Option<MergeRun>, MergeError> {
        let Some(text) = files::load_text(&self.path)? else { return Ok(None) };
        let unreadable = |problem: String| MergeError::Journal { path: self.path.clone(), problem };
        let run: MergeRun = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if run.format > FORMAT {
            return Err(unreadable(format!("it was written by a newer version (format {})", run.format)));
        }
        Ok(Some(run))
    }

    pub(super) fn save(&self, run: &MergeRun) -> Result<(), MergeError> {
        let text = serde_json::to_vec_pretty(run)
            .map_err(|error| MergeError::Journal { path: self.path.clone(), problem: error.to_string() })?;
        Ok(files::write_atomic(&self.path, &text, Access::Usual)?)
    }

    /// Deletes the file after the merge has finished and its messages were sent.
    pub(super) fn close(self) -> Result<(), MergeError> {
        fs::remove_file(&self.path).map_err(|source| FileError {
            action: "remove",
            path: self.path,
            source,
        })?;
        Ok(())
    }
}
