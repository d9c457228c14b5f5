//! The state of a merge on disk, so that the next merge can resume an interrupted one.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::BranchName;
use paw_core::paths::{PawDir, lock_of};
use paw_host::files::{self, Access, FileError, Lock};
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

/// The file of the running merge, locked so that only one merge runs in a repository.
#[derive(Debug)]
pub(super) struct MergeJournal {
    path: PathBuf,
    _lock: Lock,
}

impl MergeJournal {
    pub(super) fn open(common_dir: &Path) -> Result<Self, MergeError> {
        let path = PawDir::of(common_dir).merge_journal();
        let lock = Lock::try_take(&lock_of(&path))?.ok_or(MergeError::Busy)?;
        Ok(Self { path, _lock: lock })
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
