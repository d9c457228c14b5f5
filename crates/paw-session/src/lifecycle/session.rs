//! The session of a repository, found by its receipt.

use std::path::{Path, PathBuf};

use paw_core::{Receipt, SessionStatus};
use paw_host::git::{Repo, find_admin_dir, find_linked_admin_dir};
use paw_host::tmux::{Tmux, TmuxError};

use super::LifecycleError;
use super::window::TmuxWindow;
use crate::receipts::{ReceiptListing, Receipts};

/// A session that was started in a repository and not purged.
#[derive(Debug, Clone)]
pub struct Session {
    pub repo: Repo,
    pub receipt: Receipt,
    pub receipts: Receipts,
    pub tmux: Tmux,
    /// The old path of the repository, if it has moved since the session was started.
    pub moved_from: Option<PathBuf>,
}

impl Session {
    fn new(repo: Repo, receipt: Receipt, receipts: &Receipts, moved_from: Option<PathBuf>) -> Self {
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        Self { repo, receipt, receipts: receipts.clone(), tmux, moved_from }
    }

    /// The session of this repository, even if the repository has moved.
    pub fn find(repo: &Repo, receipts: &Receipts) -> Result<Option<Self>, LifecycleError> {
        let session = |receipt: Receipt, moved_from| Self::new(repo.clone(), receipt, receipts, moved_from);
        if let Some(receipt) = receipts.find_for_repo(&repo.root)? {
            return Ok(Some(session(receipt, None)));
        }
        let moved = find_moved(&receipts.all()?, repo);
        Ok(moved.map(|mut receipt| {
            let before = std::mem::replace(&mut receipt.repo_path, repo.root.clone());
            session(receipt, Some(before))
        }))
    }

    /// The current state of the same session, for callers that have waited for an answer or a lock. `None` if it was
    /// purged.
    pub fn reload(&self) -> Result<Option<Self>, LifecycleError> {
        let found = Self::find(&self.repo, &self.receipts)?;
        Ok(found.filter(|found| found.receipt.session_id() == self.receipt.session_id()))
    }

    /// The session of the repository that contains a directory, found without running git, which is slow. `None` only means
    /// that the caller has to run git.
    pub fn find_without_git(dir: &Path, receipts: &Receipts) -> Result<Option<Self>, LifecycleError> {
        match guess_repo(dir) {
            Some(repo) => {
                let receipt = receipts.find_for_repo(&repo.root)?;
                Ok(receipt.map(|receipt| Self::new(repo, receipt, receipts, None)))
            }
            None => Ok(None),
        }
    }

    /// The session's tmux window, or `None` if the session is not running or tmux is not installed.
    pub fn find_window(&self) -> Result<Option<TmuxWindow>, LifecycleError> {
        match TmuxWindow::find(&self.tmux, &self.receipt) {
            Err(TmuxError::NotInstalled) => Ok(None),
            answer => Ok(answer?),
        }
    }

    /// The actual status of the session, and its tmux window.
    pub fn state(&self) -> Result<(SessionStatus, Option<TmuxWindow>), LifecycleError> {
        let window = self.find_window()?;
        Ok((self.receipt.effective_status(|_| window.is_some()), window))
    }

    /// Updates the receipt on disk.
    pub(super) fn change(&self, change: impl FnOnce(&mut Receipt)) -> Result<(), LifecycleError> {
        self.receipts.update(&self.receipt.session_name, &self.receipts.lock()?, |receipt| {
            receipt.repo_path.clone_from(&self.receipt.repo_path);
            change(receipt);
        })?;
        Ok(())
    }
}

/// Recognizes a checkout with a `.git` directory, and worktrees linked to it.
fn guess_repo(dir: &Path) -> Option<Repo> {
    let worktree = dir.ancestors().find(|dir| dir.join(".git").exists())?;
    let git = worktree.join(".git");
    let common_dir = if git.is_dir() {
        git
    } else {
        let admin = find_linked_admin_dir(worktree)?;
        admin.parent().filter(|parent| parent.ends_with("worktrees"))?.parent()?.to_path_buf()
    };
    let root = common_dir.parent().filter(|_| common_dir.ends_with(".git"))?.to_path_buf();
    Some(Repo { root, worktree: Some(worktree.to_path_buf()), common_dir, bare: false })
}

/// The receipt of a repository that has moved here: its old path is missing and its worktrees belong to this repository.
fn find_moved(listing: &ReceiptListing, repo: &Repo) -> Option<Receipt> {
    let belongs = |worktree: &Path| {
        let admin = find_linked_admin_dir(worktree);
        admin.is_some_and(|admin| admin.starts_with(repo.common_dir.join("worktrees")))
            || find_admin_dir(&repo.common_dir, worktree).is_some()
    };
    let moved = |receipt: &&Receipt| {
        !receipt.repo_path.exists() && receipt.worktrees.iter().any(|agent| belongs(&agent.worktree_path))
    };
    listing.receipts.iter().filter(moved).max_by_key(|receipt| receipt.created_at).cloned()
}
