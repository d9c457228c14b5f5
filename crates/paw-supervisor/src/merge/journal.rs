//! What a merge writes down about itself, so that the next one knows where it was when it ended too early.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::BranchName;
use paw_core::paths::{PawDir, lock_of};
use paw_host::files::{self, Access, FileError, Lock};
use serde::{Deserialize, Serialize};

use super::MergeError;
use super::plan::Entry;

/// A reader that knows less must not guess.
const FORMAT: u32 = 1;

/// One merge, from its plan to its last message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) format: u32,
    pub(super) started_at: Timestamp,
    pub(super) base: BranchName,
    /// Where main was before all of it.
    pub(super) before: String,
    pub(super) entries: Vec<Entry>,
}

impl Run {
    pub(super) fn new(started_at: Timestamp, base: BranchName, before: String) -> Self {
        Self { format: FORMAT, started_at, base, before, entries: Vec::new() }
    }

    /// What its messages carry, to be told from those of other merges.
    pub(super) fn id(&self) -> String {
        self.started_at.to_string()
    }
}

/// The file of the running merge. Only one merge of a repository has it at a time.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    _lock: Lock,
}

impl Journal {
    pub(super) fn open(common_dir: &Path) -> Result<Self, MergeError> {
        let path = PawDir::of(common_dir).merge_journal();
        let lock = Lock::try_take(&lock_of(&path))?.ok_or(MergeError::Busy)?;
        Ok(Self { path, _lock: lock })
    }

    /// The merge that did not come to its end, if the last one did not.
    pub(super) fn load(&self) -> Result<Option<Run>, MergeError> {
        let Some(text) = files::load_text(&self.path)? else { return Ok(None) };
        let unreadable = |problem: String| MergeError::Journal { path: self.path.clone(), problem };
        let run: Run = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if run.format > FORMAT {
            return Err(unreadable(format!("it was written by a newer version (format {})", run.format)));
        }
        Ok(Some(run))
    }

    pub(super) fn save(&self, run: &Run) -> Result<(), MergeError> {
        let text = serde_json::to_vec_pretty(run)
            .map_err(|error| MergeError::Journal { path: self.path.clone(), problem: error.to_string() })?;
        Ok(files::write_atomic(&self.path, &text, Access::Usual)?)
    }

    /// It is through, and everybody was told.
    pub(super) fn close(self) -> Result<(), MergeError> {
        fs::remove_file(&self.path).map_err(|source| FileError {
            action: "remove",
            path: self.path,
            source,
        })?;
        Ok(())
    }
}
