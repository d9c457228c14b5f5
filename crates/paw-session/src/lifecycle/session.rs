//! The session of a repository: its receipt, and the services to what it describes.

use std::path::{Path, PathBuf};

use paw_core::{Receipt, SessionStatus};
use paw_host::git::{Repo, find_linked_admin_dir, find_admin_dir};
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
    /// Where the repository was when the session was started, if it is somewhere else now.
    pub moved_from: Option<PathBuf>,
}

impl Session {
    fn new(repo: Repo, receipt: Receipt, receipts: &Receipts, moved_from: Option<PathBuf>) -> Self {
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        Self { repo, receipt, receipts: receipts.clone(), tmux, moved_from }
    }

    /// The session of this repository, also when the repository has moved since.
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

    /// The same session as it is by now, for whoever has waited for an answer or a lock. Nothing if it is gone.
    pub fn reload(&self) -> Result<Option<Self>, LifecycleError> {
        let found = Self::find(&self.repo, &self.receipts)?;
        Ok(found.filter(|found| found.receipt.session_id() == self.receipt.session_id()))
    }

    /// The session of the repository around a directory, found by looking at files alone. Nothing means only that git has
    /// to be asked, which takes longer than everything else.
    pub fn find_without_git(dir: &Path, receipts: &Receipts) -> Result<Option<Self>, LifecycleError> {
        match guess_repo(dir) {
            Some(repo) => {
                let receipt = receipts.find_for_repo(&repo.root)?;
                Ok(receipt.map(|receipt| Self::new(repo, receipt, receipts, None)))
            }
            None => Ok(None),
        }
    }

    /// What tmux shows of it; nothing when it does not run. Without tmux nothing runs.
    pub fn find_window(&self) -> Result<Option<TmuxWindow>, LifecycleError> {
        match TmuxWindow::find(&self.tmux, &self.receipt) {
            Err(TmuxError::NotInstalled) => Ok(None),
            answer => Ok(answer?),
        }
    }

    /// What the session really is, and what tmux shows of it.
    pub fn state(&self) -> Result<(SessionStatus, Option<TmuxWindow>), LifecycleError> {
        let window = self.find_window()?;
        Ok((self.receipt.effective_status(|_| window.is_some()), window))
    }

    /// Writes the receipt as it is to be from now on.
    pub(super) fn change(&self, change: impl FnOnce(&mut Receipt)) -> Result<(), LifecycleError> {
        self.receipts.update(&self.receipt.session_name, &self.receipts.lock()?, |receipt| {
            receipt.repo_path.clone_from(&self.receipt.repo_path);
            change(receipt);
        })?;
        Ok(())
    }
}

/// The usual shapes of a repository: a `.git` directory in its checkout, and worktrees that are linked to it.
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

/// A receipt whose repository is gone from where it was, and whose worktrees belong to this one.
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
