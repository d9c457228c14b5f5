//! Snapshots of a worktree, to find what changed since a subtask began. Compares git's view and the few files that
//! decide what counts as a proof.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paw_core::paths::CheckoutDir;
use paw_core::paths::TaskmasterDir;
use paw_host::files::{self, Access};
use serde::{Deserialize, Serialize};

use super::{ProjectContext, WorkError};
use crate::evidence::FileChange;
use crate::evidence::changes::{between, since_head};

/// A worktree at one moment: the changes since its last commit, and the content of guarded files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeSnapshot {
    commit: String,
    changes: Vec<FileChange>,
    /// Files that are compared even if git ignores them, such as tasks.json.
    guarded: BTreeMap<PathBuf, Option<String>>,
}

impl ChangeSnapshot {
    pub fn take(context: &ProjectContext) -> Result<Self, WorkError> {
        let ours = |change: &FileChange| is_run_file(&change.path);
        let (commit, changes) = since_head(&context.git)?;
        let changes = changes.into_iter().filter(|change| !ours(change)).collect();
        let guarded = guarded(context).into_iter().map(|path| {
            let text = std::fs::read(context.top.join(&path)).ok();
            (path, text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        });
        Ok(Self { commit: commit.unwrap_or_default(), changes, guarded: guarded.collect() })
    }

    /// The last commit at that moment.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Changes from this snapshot to a later one.
    pub fn changes_until(&self, later: &Self) -> Vec<FileChange> {
        let mut changes = between(&self.changes, &later.changes);
        for (path, after) in &later.guarded {
            let before = self.guarded.get(path).cloned().flatten();
            if before != *after && !changes.iter().any(|change| change.path == *path) {
                let (path, after) = (path.clone(), after.clone());
                changes.push(FileChange { path, before, after, ..FileChange::default() });
            }
        }
        changes
    }

    /// Takes the state of git paw's own files from `now`, because the user may have edited them.
    #[must_use]
    pub fn with_own_files_of(mut self, now: Self) -> Self {
        self.changes.retain(|change| !is_own_file(&change.path));
        self.changes.extend(now.changes.into_iter().filter(|change| is_own_file(&change.path)));
        self.guarded = now.guarded;
        self
    }

    /// Uncommitted changes outside of git paw's own files.
    pub fn foreign_changes(&self) -> Vec<&Path> {
        self.changes.iter().map(|change| change.path.as_path()).filter(|path| !is_own_file(path)).collect()
    }
}

/// tasks.json and the settings that control the tests.
fn guarded(context: &ProjectContext) -> Vec<PathBuf> {
    let files =
        [context.project.tasks_file(), context.project.config_file(), CheckoutDir::of(&context.top).config()];
    files.iter().filter_map(|file| file.strip_prefix(&context.top).ok().map(Path::to_path_buf)).collect()
}

/// Whether a file belongs to git paw or `.taskmaster/`.
pub fn is_own_file(path: &Path) -> bool {
    let old = [TaskmasterDir::OLD_TASKS, TaskmasterDir::OLD_CONFIG].iter().any(|old| path == Path::new(old));
    old || path.iter().any(|part| part == TaskmasterDir::NAME || part == CheckoutDir::NAME)
}

/// Whether a file is a report or state of a run, which is never committed.
pub fn is_run_file(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().collect();
    let own = [TaskmasterDir::REPORTS, TaskmasterDir::STATE];
    parts.windows(2).any(|pair| pair[0] == TaskmasterDir::NAME && own.iter().any(|own| pair[1] == *own))
}

/// Writes `.gitignore` files that hide the files of runs.
pub fn write_gitignores(context: &ProjectContext) -> Result<(), WorkError> {
    for dir in [context.project.files().state(), context.project.files().runs()] {
        let ignore = dir.join(".gitignore");
        if !ignore.exists() {
            files::write_atomic(&ignore, b"*\n", Access::Usual)?;
        }
    }
    Ok(())
}
