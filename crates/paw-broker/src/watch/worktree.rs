//! One watched worktree.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use paw_host::files::load_text;
use paw_host::git::{Repo, ScratchError, ScratchRepo, WorktreeSnapshot, WorktreeSnapshotter};

use super::ignore_rules::IgnoreRules;
use super::pending::{ChangeSet, PendingChanges};
use super::publish::{self, LastStatus};
use super::{AgentWork, WatchError, WatchSettings, WatchTarget, WorkSnapshot};

#[derive(Debug)]
pub(super) struct WatchedWorktree {
    pub(super) target: WatchTarget,
    /// The worktree's real path.
    pub(super) root: PathBuf,
    pub(super) rules: IgnoreRules,
    pub(super) pending: PendingChanges,
    /// The next scheduled scan: regularly for a worktree that cannot be watched, once after a failure.
    pub(super) next_scan: Option<Duration>,
    /// Why the worktree is polled instead of watched.
    pub(super) polled: Option<String>,
    /// The last failure that was reported.
    pub(super) reported_failure: Option<String>,
    snapshot: WorktreeSnapshotter,
    scratch: Arc<ScratchRepo>,
    last_status: Option<LastStatus>,
    last_work: Option<String>,
    /// The commit of its branch at the last scan.
    last_head: Option<String>,
    /// A commit of its own that was not reported yet.
    new_commit: Option<String>,
}

impl WatchedWorktree {
    pub(super) fn open(
        target: WatchTarget,
        scratch: &Arc<ScratchRepo>,
        settings: &WatchSettings,
    ) -> Result<Self, WatchError> {
        let repo = Repo::discover(&target.worktree)?;
        let same =
            |a: &Path, b: &Path| a.canonicalize().ok().is_some_and(|a| Some(a) == b.canonicalize().ok());
        let whole = repo.worktree.as_deref().is_some_and(|root| same(root, &target.worktree));
        if !whole || !same(&repo.common_dir, &settings.common_dir) {
            return Err(WatchError::Foreign(target.worktree));
        }
        let excluded = settings.excluded.clone();
        let id = target.agent.as_str();
        let snapshot = WorktreeSnapshotter::new(Arc::clone(scratch), id, &target.worktree, excluded)?;
        let root = snapshot.root().to_path_buf();
        Ok(Self {
            rules: IgnoreRules::load(&root, &settings.common_dir, &settings.excluded)?,
            root,
            target,
            pending: PendingChanges::default(),
            next_scan: None,
            polled: None,
            reported_failure: None,
            snapshot,
            scratch: Arc::clone(scratch),
            last_status: None,
            last_work: None,
            last_head: None,
            new_commit: None,
        })
    }

    /// The commit of its branch, if it moved to another one with work of its own. Hooks report commits too, unless the CLI
    /// disables them.
    pub(super) fn take_commit(&mut self) -> Option<String> {
        self.new_commit.take()
    }

    fn note_head(&mut self, taken: &WorktreeSnapshot) {
        // In a rebase, HEAD is on no branch.
        if taken.head == self.last_head || self.head_ref().is_none() {
            return;
        }
        let before = std::mem::replace(&mut self.last_head, taken.head.clone());
        self.new_commit = taken.head.clone().filter(|_| before.is_some() && !taken.changed.is_empty());
    }

    pub(super) fn admin_dir(&self) -> PathBuf {
        self.snapshot.admin_dir().to_path_buf()
    }

    pub(super) fn is_gone(&self) -> bool {
        !self.root.join(".git").exists()
    }

    /// The ref in HEAD, if it is on a branch.
    pub(super) fn head_ref(&self) -> Option<String> {
        let head = load_text(&self.snapshot.admin_dir().join("HEAD")).ok()??;
        Some(head.strip_prefix("ref: ")?.trim_end().to_owned())
    }

    /// Switches to a new scratch repository; the old one is about to be deleted.
    pub(super) fn move_to(
        &mut self,
        scratch: &Arc<ScratchRepo>,
        settings: &WatchSettings,
    ) -> Result<(), ScratchError> {
        let id = self.target.agent.as_str();
        self.snapshot = WorktreeSnapshotter::new(
            Arc::clone(scratch),
            id,
            &self.target.worktree,
            settings.excluded.clone(),
        )?;
        self.scratch = Arc::clone(scratch);
        self.last_work = None;
        Ok(())
    }

    /// Takes a snapshot of what changed. `None` if nothing did.
    pub(super) fn scan(
        &mut self,
        changes: &ChangeSet,
        now: Duration,
        settings: &WatchSettings,
    ) -> Result<Option<AgentWork>, ScratchError> {
        let Some(taken) = self.take(changes, settings)? else { return Ok(None) };
        self.note_head(&taken);
        let news = publish::is_news(self.last_status.as_ref(), &taken, now, settings.republish_after);
        let same = self.last_work.as_ref() == Some(&taken.work) && !news;
        self.last_work = Some(taken.work.clone());
        // The text makes it a new status, although the files are the same.
        let again = self.last_status.as_ref().is_some_and(|last| last.changed == taken.changed);
        let note = self.polled.as_deref().or(again.then_some("further changes to the same files"));
        let status = news.then(|| self.status((&taken.changed, taken.clean), note));
        if news || self.last_status.is_none() {
            self.last_status = Some(LastStatus::new(&taken, now));
        }
        let snapshot = WorkSnapshot { scratch: Arc::clone(&self.scratch), work: taken.work };
        let text = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let (files, emptied_dirs) = (text(&taken.changed), text(&taken.emptied_dirs));
        let left_out = text(&taken.left_out);
        let agent = self.target.agent.clone();
        Ok((!same).then(|| AgentWork { agent, snapshot, files, emptied_dirs, left_out, status }))
    }

    /// The last status, sent again with the current text.
    pub(super) fn repeat_status(&self) -> crate::Message {
        let last = self.last_status.as_ref().map(|last| (last.changed.as_slice(), last.clean));
        self.status(last.unwrap_or_default(), self.polled.as_deref())
    }

    fn status(&self, changed: (&[PathBuf], bool), note: Option<&str>) -> crate::Message {
        publish::status(&self.target.agent, self.target.cli.as_deref(), changed, note)
    }

    fn take(
        &mut self,
        changes: &ChangeSet,
        settings: &WatchSettings,
    ) -> Result<Option<WorktreeSnapshot>, ScratchError> {
        let whole = changes.whole || (changes.head && self.snapshot.has_moved(&settings.bases)?);
        if whole {
            return self.snapshot.take_whole(&settings.bases).map(Some);
        }
        if changes.paths.is_empty() {
            return Ok(None);
        }
        match self.snapshot.take_paths(&changes.paths) {
            Ok(taken) => Ok(Some(taken)),
            // A file changed during the scan, or an object is missing: scan the whole worktree.
            Err(_) => self.snapshot.take_whole(&settings.bases).map(Some),
        }
    }
}
