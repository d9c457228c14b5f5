//! What an executor may not change besides files of the worktree: refs, git settings, hooks, and files outside of the
//! repository that test runners read by themselves. Compared around every turn.
//!
//! - `settings`: git settings, hooks, and files of test runners outside of the repository
//! - `moved_refs`: which movements of refs count

mod moved_refs;
mod settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ActiveRun, ProjectContext, WorkError};
use crate::engine::RunEvent;
use settings::{load_config, settings};

/// The repository's context at one moment: refs, hooks and settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RepositoryGuard {
    /// When it was taken, in seconds.
    at: i64,
    /// Every ref and its object; those of local remotes start with the remote's name and a colon.
    refs: BTreeMap<String, String>,
    /// Names of settings and files, each with a digest of its content.
    settings: BTreeMap<String, u64>,
}

impl RepositoryGuard {
    pub(super) fn take(context: &ProjectContext) -> Result<Self, WorkError> {
        let config = load_config(&context.git)?;
        Ok(Self {
            at: paw_host::clock::now().as_second(),
            refs: moved_refs::load_refs(context, &config)?,
            settings: settings(context, &config),
        })
    }

    /// Settings and files that differ, by name.
    fn changed_settings(&self, now: &Self) -> Vec<String> {
        let names = self.settings.keys().chain(now.settings.keys());
        let mut changed: Vec<String> =
            names.filter(|name| self.settings.get(*name) != now.settings.get(*name)).cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// Another process moved the default branch to commits that existed before. What was tested meanwhile is tested again.
pub(super) struct BaseMoved;

impl ActiveRun {
    /// Remembers the context, after something that git paw itself or the user did.
    pub(super) fn take_guard(&mut self) -> Result<(), WorkError> {
        self.notes.guard = Some(RepositoryGuard::take(&self.context)?);
        Ok(())
    }

    /// Pauses the run if the context was changed since the guard was taken.
    pub(super) fn check_guard(&mut self) -> Result<Option<BaseMoved>, WorkError> {
        let Some(before) = self.notes.guard.clone() else {
            self.take_guard()?;
            return Ok(None);
        };
        let now = RepositoryGuard::take(&self.context)?;
        let settings = before.changed_settings(&now);
        if !settings.is_empty() {
            let what = format!("{} changed during the run", settings.join(", "));
            self.apply(RunEvent::ProtectedChanged { what: what.clone() })?;
            return Err(WorkError::Paused(what));
        }
        let moved = moved_refs::judge(self, &before, &now)?;
        if let Some(what) = moved.forbidden {
            self.apply(RunEvent::HeadMoved { what: what.clone() })?;
            return Err(WorkError::Paused(what));
        }
        if before.refs != now.refs {
            self.notes.guard = Some(RepositoryGuard { at: before.at, ..now });
        }
        Ok(moved.base.then_some(BaseMoved))
    }

    /// The stored state of the run. Only this process writes it.
    pub(crate) fn stored_state(&self) -> Vec<Option<Vec<u8>>> {
        self.dir.state_files().iter().map(|file| std::fs::read(file).ok()).collect()
    }

    /// Writes the state again and pauses, if the executor changed what is stored.
    pub(crate) fn require_stored_state(&mut self, known: &[Option<Vec<u8>>]) -> Result<(), WorkError> {
        if self.stored_state() == known {
            return Ok(());
        }
        self.dir.write_baseline(&self.baseline)?;
        let what = "the stored state of the run changed".to_owned();
        self.apply(RunEvent::ProtectedChanged { what: what.clone() })?;
        Err(WorkError::Paused(what))
    }

    /// Why a run that was paused because of its context cannot resume yet.
    pub(super) fn find_protected_change(&self) -> Result<Option<String>, WorkError> {
        if let Some(dir) = self.checkout.find_changed_dependency() {
            return Ok(Some(format!("{} in git paw's checkout", dir.display())));
        }
        let Some(before) = &self.notes.guard else { return Ok(None) };
        let changed = before.changed_settings(&RepositoryGuard::take(&self.context)?);
        Ok((!changed.is_empty()).then(|| changed.join(", ")))
    }
}
