//! Detached worktrees for testing commits.
//!
//! Gates keep theirs between runs (`gates::checkout`); a merge removes its own when it finishes (`merge::test_worktree`).

use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError, Repo, fill_submodules};
use paw_host::locks::WorktreesLock;

/// A detached worktree that contains only the tested commit and ignored files.
#[derive(Debug)]
pub(crate) struct TestCheckout {
    repo: Repo,
    dir: PathBuf,
}

impl TestCheckout {
    /// The checkout at `dir`, if it is a worktree of this repository.
    pub(crate) fn find(repo: &Repo, dir: &Path) -> Option<Self> {
        let found = dir.is_dir().then(|| Repo::discover(dir).ok()).flatten()?;
        let is_ours = found.common_dir == repo.common_dir
            && found.worktree.as_deref() == dir.canonicalize().ok().as_deref();
        is_ours.then(|| Self { repo: repo.clone(), dir: dir.to_path_buf() })
    }

    /// Adds a worktree without files. `options` are passed to git.
    pub(crate) fn add(
        repo: &Repo,
        dir: &Path,
        commit: &str,
        options: &[&str],
        lock: &WorktreesLock,
    ) -> Result<Self, GitError> {
        repo.git().add_detached_worktree(dir, commit, &[&["--no-checkout"], options].concat(), lock)?;
        Ok(Self { repo: repo.clone(), dir: dir.to_path_buf() })
    }

    pub(crate) fn repo(&self) -> &Repo {
        &self.repo
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn git(&self) -> Git {
        Git::at(&self.dir)
    }

    /// Checks out `commit` and removes all other files except ignored ones, which keep builds incremental.
    pub(crate) fn check_out(&self, commit: &str) -> Result<(), GitError> {
        let git = self.git();
        let clean = || git.plumb(None, ["clean", "-ffd", "--quiet"]);
        git.plumb(None, ["reset", "--hard", "--quiet"])?;
        clean()?;
        git.plumb(
            None,
            ["checkout", "--quiet", "--force", "--detach", "--no-recurse-submodules", commit, "--"],
        )?;
        // A file that the previous commit ignored may be untracked in this one.
        clean()?;
        for problem in fill_submodules(&self.repo.root, &self.dir)? {
            tracing::warn!(target: "paw::tests", "submodule not filled: {problem}");
        }
        Ok(())
    }
}
