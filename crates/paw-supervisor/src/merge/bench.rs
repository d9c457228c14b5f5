//! The temporary worktree in which commits are put to the proof, beside the repository and out of everybody's way.

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{self, Git, GitError, Repo};
use paw_host::locks::WorktreesLock;
use paw_host::process;
use paw_worktree::check;
use paw_worktree::rescue::{self, RescueRequest};

use super::MergeError;

/// Git keeps it as the reason why the worktree is locked; by it a later merge knows what an earlier one has left.
pub const REASON: &str = "git paw merge tests here";

/// A worktree on no branch. It goes when it is dropped; what was built in it lasts until then.
#[derive(Debug)]
pub(super) struct Bench {
    repo: Repo,
    dir: PathBuf,
}

impl Bench {
    /// Makes the worktree, unless something that is not ours has its place.
    pub(super) fn open(repo: &Repo, commit: &str) -> Result<Self, MergeError> {
        let dir = place(repo);
        let lock = WorktreesLock::wait(&repo.common_dir)?;
        if dir.symlink_metadata().is_ok() {
            return Err(MergeError::InTheWay(dir));
        }
        repo.git().add_detached_worktree(&dir, commit, &["--lock", "--reason", REASON], &lock)?;
        Ok(Self { repo: repo.clone(), dir })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Nothing but the files of `commit`, and what git ignores: that is how builds stay warm from one to the next.
    pub(super) fn check_out(&self, commit: &str) -> Result<(), MergeError> {
        let git = self.git();
        process::end(&process::living_in(&self.dir));
        git.plumb(None, ["reset", "--hard", "--quiet"])?;
        git.plumb(None, ["clean", "-ffdq"])?;
        git.plumb(None, ["checkout", "--quiet", "--force", "--detach", "--no-recurse-submodules", commit])?;
        // What the commit before ignored may be a stray file for this one.
        git.plumb(None, ["clean", "-ffdq"])?;
        if !self.repo.bare && self.dir.join(".gitmodules").is_file() {
            for problem in git::fill_submodules(&self.repo.root, &self.dir)? {
                tracing::warn!(target: "paw::merge", "submodule not filled: {problem}");
            }
        }
        Ok(())
    }

    /// `tip` on top of `onto`, on no branch; or what git says against it.
    pub(super) fn rebase(&self, tip: &str, onto: &str) -> Result<Result<String, String>, MergeError> {
        self.check_out(tip)?;
        let settings = [
            "rebase.autoStash=false",
            "rebase.autoSquash=false",
            "rebase.updateRefs=false",
            "advice.mergeConflict=false",
        ];
        let options = settings.into_iter().flat_map(|setting| ["-c", setting]);
        let command = self.git().plumbing(None, options.chain(["rebase", "--quiet", onto]));
        let output = command.capture().map_err(GitError::from)?;
        if output.exit.success() {
            let commit = self.git().line(["rev-parse", "--verify", "HEAD"])?;
            return Ok(Ok(commit));
        }
        let conflicts = self.git().line(["diff", "--name-only", "--diff-filter=U"])?;
        let said = if conflicts.is_empty() {
            String::from_utf8_lossy(&output.stderr).trim().to_owned()
        } else {
            format!("conflicts in {}", conflicts.lines().collect::<Vec<_>>().join(", "))
        };
        let _ = self.git().plumbing(None, ["rebase", "--abort"]).capture().map_err(GitError::from)?;
        Ok(Err(said))
    }

    /// Keeps the commit that is checked out here, which may be on no branch. Returns the ref.
    pub(super) fn keep(&self, branch: &BranchName, commit: &str, reason: &str) -> Result<String, MergeError> {
        // What the tests left behind is not the agent's work.
        self.check_out(commit)?;
        let request = RescueRequest {
            repo: &self.repo,
            worktree: &self.dir,
            branch: Some(branch),
            reason,
            include_ignored: false,
            branch_goes_too: false,
        };
        let kept = match rescue::store_if_needed(&request)? {
            Some(kept) => kept,
            None => rescue::store_tip(&self.repo, branch, reason)?,
        };
        Ok(kept.reference)
    }

    fn git(&self) -> Git {
        Git::at(&self.dir)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        match WorktreesLock::wait(&self.repo.common_dir) {
            Ok(lock) => clear(&self.repo, &self.dir, &lock),
            Err(error) => {
                tracing::warn!(target: "paw::merge", "cannot remove {}: {error}", self.dir.display());
            }
        }
    }
}

/// Clears away what a merge that died has left. What is not a merge's is not touched.
pub(super) fn clear_left(repo: &Repo) -> Result<(), MergeError> {
    let dir = place(repo);
    let is_ours = |tree: &git::Worktree| tree.path == dir && tree.locked.as_deref() == Some(REASON);
    if repo.git().worktrees()?.iter().any(is_ours) {
        clear(repo, &dir, &WorktreesLock::wait(&repo.common_dir)?);
    }
    Ok(())
}

fn place(repo: &Repo) -> PathBuf {
    check::directory(repo, "paw-merge")
}

fn clear(repo: &Repo, dir: &Path, lock: &WorktreesLock) {
    process::end(&process::living_in(dir));
    if let Err(error) = repo.git().remove_worktree(dir, lock) {
        tracing::warn!(target: "paw::merge", "cannot remove {}: {error}", dir.display());
    }
}
