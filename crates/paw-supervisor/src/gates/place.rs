//! The checkout that checks run in: the branch's own worktree while it is clean, else one that is kept for this.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::{CheckoutDir, lock_of};
use paw_core::{BranchName, ProjectName};
use paw_host::files::{self, Dirs, FileError, Lock};
use paw_host::git::{Git, GitError, Repo, StatusEntry, fill_submodules};
use paw_host::locks::WorktreesLock;
use paw_host::trust::Subject;

use super::verify::GateError;

/// What we put into worktrees ourselves never makes them dirty.
const OURS: [&str; 2] = [CheckoutDir::NAME, ".claude/settings.local.json"];

/// A checkout of one commit, ours until it is dropped.
#[derive(Debug)]
pub(super) struct Checkout {
    pub(super) dir: PathBuf,
    /// It is the branch's own worktree, so somebody may be at work in it.
    pub(super) shared: bool,
    _lock: Option<Lock>,
}

impl Checkout {
    /// The worktree of the branch, if it is at `commit` and nothing in it is uncommitted.
    pub(super) fn find_own(repo: &Repo, branch: &BranchName, commit: &str) -> Result<Option<Self>, GitError> {
        let own = repo.git().worktrees()?.into_iter().find(|tree| tree.branch() == Some(branch));
        let Some(own) = own.filter(|tree| tree.commit.as_deref() == Some(commit) && tree.path.is_dir())
        else {
            return Ok(None);
        };
        let clean = changes(&own.path)?.is_empty();
        Ok(clean.then_some(Self { dir: own.path, shared: true, _lock: None }))
    }

    /// A kept checkout with this commit in it. Ignored files stay, so that builds need not begin anew.
    pub(super) fn keep(repo: &Repo, dir: &Path, commit: &str) -> Result<Self, GateError> {
        let lock = Lock::wait(&lock_of(dir))?;
        if !is_ours(repo, dir) {
            make(repo, dir, commit)?;
        }
        let git = Git::at(dir);
        git.plumb(None, ["reset", "--hard", "--quiet"])?;
        git.plumb(None, ["clean", "-ffd", "--quiet"])?;
        git.plumb(
            None,
            ["checkout", "--quiet", "--force", "--detach", "--no-recurse-submodules", commit, "--"],
        )?;
        git.plumb(None, ["clean", "-ffd", "--quiet"])?;
        for problem in fill_submodules(&repo.root, dir)? {
            tracing::warn!(target: "paw::gates", "submodule not filled: {problem}");
        }
        Ok(Self { dir: dir.to_path_buf(), shared: false, _lock: Some(lock) })
    }
}

/// Where a repository's kept checkouts are: among our own data, told apart from another repository of the same name.
pub fn kept_checkouts(dirs: &Dirs, repo: &Repo) -> PathBuf {
    let project = ProjectName::from_path(&repo.root);
    let real = repo.common_dir.canonicalize().unwrap_or_else(|_| repo.common_dir.clone());
    let key = Subject::new("checkouts").with("repository", real.as_os_str().as_bytes()).fingerprint();
    let short = key.as_str().get(..12).unwrap_or_default();
    dirs.data().checkouts().join(format!("{project}-{short}"))
}

/// Uncommitted files, ours left out.
pub(super) fn changes(worktree: &Path) -> Result<Vec<StatusEntry>, GitError> {
    let mut entries = Git::at(worktree).status()?;
    entries.retain(|entry| !OURS.iter().any(|ours| entry.path.starts_with(ours)));
    Ok(entries)
}

/// Whether a worktree of this very repository is there.
fn is_ours(repo: &Repo, dir: &Path) -> bool {
    let found = dir.is_dir().then(|| Repo::discover(dir).ok()).flatten();
    found.is_some_and(|found| {
        found.common_dir == repo.common_dir && found.worktree.as_deref() == dir.canonicalize().ok().as_deref()
    })
}

fn make(repo: &Repo, dir: &Path, commit: &str) -> Result<(), GateError> {
    if let Ok(mut entries) = std::fs::read_dir(dir)
        && entries.next().is_some()
    {
        return Err(GateError::InTheWay(dir.to_path_buf()));
    }
    if let Some(above) = dir.parent() {
        files::create_dir(above)?;
    }
    let lock = WorktreesLock::wait(&repo.common_dir)?;
    // A checkout whose directory was deleted is still registered.
    repo.git().prune_worktrees(&lock)?;
    Ok(repo.git().add_detached_worktree(dir, commit, &["--no-checkout", "--force"], &lock)?)
}

impl From<FileError> for GateError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}
