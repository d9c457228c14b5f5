//! The temporary worktree, next to the repository, in which a merge tests commits.

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{self, GitError, Repo};
use paw_host::locks::WorktreesLock;
use paw_host::process;
use paw_worktree::check;
use paw_worktree::rescue::{self, RescueRequest};

use super::MergeError;
use crate::test_checkout::TestCheckout;

/// The lock reason of the worktree, by which a later merge recognizes a leftover one.
pub const LOCK_REASON: &str = "git paw merge tests here";

/// A detached worktree. It is removed on drop; build output is kept until then.
#[derive(Debug)]
pub(super) struct TestWorktree(TestCheckout);

impl TestWorktree {
    /// Creates the worktree; fails if its path already exists.
    pub(super) fn open(repo: &Repo, commit: &str) -> Result<Self, MergeError> {
        let dir = directory(repo);
        let lock = WorktreesLock::wait(&repo.common_dir)?;
        if dir.symlink_metadata().is_ok() {
            return Err(MergeError::InTheWay(dir));
        }
        let options = ["--lock", "--reason", LOCK_REASON];
        Ok(Self(TestCheckout::add(repo, &dir, commit, &options, &lock)?))
    }

    pub(super) fn dir(&self) -> &Path {
        self.0.dir()
    }

    /// Checks out `commit`, keeps ignored files, and kills processes of an earlier test.
    pub(super) fn check_out(&self, commit: &str) -> Result<(), MergeError> {
        process::terminate(&process::processes_in(self.dir()));
        Ok(self.0.check_out(commit)?)
    }

    /// Rebases `tip` onto `onto` without a branch. The inner error says why git could not.
    pub(super) fn rebase(&self, tip: &str, onto: &str) -> Result<Result<String, String>, MergeError> {
        self.check_out(tip)?;
        let settings = [
            "rebase.autoStash=false",
            "rebase.autoSquash=false",
            "rebase.updateRefs=false",
            "advice.mergeConflict=false",
        ];
        let options = settings.into_iter().flat_map(|setting| ["-c", setting]);
        let command = self.0.git().plumbing(None, options.chain(["rebase", "--quiet", onto]));
        let output = command.capture().map_err(GitError::from)?;
        if output.exit.success() {
            let commit = self.0.git().line(["rev-parse", "--verify", "HEAD"])?;
            return Ok(Ok(commit));
        }
        let conflicts = self.0.git().line(["diff", "--name-only", "--diff-filter=U"])?;
        let reason = if conflicts.is_empty() {
            String::from_utf8_lossy(&output.stderr).trim().to_owned()
        } else {
            format!("conflicts in {}", conflicts.lines().collect::<Vec<_>>().join(", "))
        };
        let _ = self.0.git().plumbing(None, ["rebase", "--abort"]).capture().map_err(GitError::from)?;
        Ok(Err(reason))
    }

    /// Saves the commit that is checked out here as a rescue. Returns its ref.
    pub(super) fn keep(&self, branch: &BranchName, commit: &str, reason: &str) -> Result<String, MergeError> {
        // Remove what the tests left behind.
        self.check_out(commit)?;
        let request = RescueRequest {
            repo: self.0.repo(),
            worktree: self.dir(),
            branch: Some(branch),
            reason,
            include_ignored: false,
            delete_branch: false,
        };
        let kept = match rescue::store_if_needed(&request)? {
            Some(kept) => kept,
            None => rescue::store_tip(self.0.repo(), branch, reason)?,
        };
        Ok(kept.reference)
    }
}

impl Drop for TestWorktree {
    fn drop(&mut self) {
        match WorktreesLock::wait(&self.0.repo().common_dir) {
            Ok(lock) => clear(self.0.repo(), self.dir(), &lock),
            Err(error) => {
                tracing::warn!(target: "paw::merge", "cannot remove {}: {error}", self.dir().display());
            }
        }
    }
}

/// Removes the worktree of an interrupted merge. A worktree that a merge did not create is not touched.
pub(super) fn clear_left(repo: &Repo) -> Result<(), MergeError> {
    let dir = directory(repo);
    let is_ours = |tree: &git::GitWorktree| tree.path == dir && tree.locked.as_deref() == Some(LOCK_REASON);
    if repo.git().worktrees()?.iter().any(is_ours) {
        clear(repo, &dir, &WorktreesLock::wait(&repo.common_dir)?);
    }
    Ok(())
}

fn directory(repo: &Repo) -> PathBuf {
    check::default_directory(repo, "paw-merge")
}

fn clear(repo: &Repo, dir: &Path, lock: &WorktreesLock) {
    process::terminate(&process::processes_in(dir));
    if let Err(error) = repo.git().remove_worktree(dir, lock) {
        tracing::warn!(target: "paw::merge", "cannot remove {}: {error}", dir.display());
    }
}
