//! The checkout that gates run in: the branch's worktree if it is clean, else a checkout kept for this.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::{CheckoutDir, lock_of};
use paw_core::{BranchName, ProjectName};
use paw_host::files::{self, Dirs, Lock};
use paw_host::git::{Git, GitError, Repo, StatusEntry};
use paw_host::locks::WorktreesLock;
use paw_host::trust::TrustSubject;
use paw_worktree::setup::{self, SetupStatus};
use paw_worktree::{Preparation, copy};

use super::verify::GateError;
use crate::test_checkout::TestCheckout;

/// Files that git paw writes never make a worktree dirty.
const OURS: [&str; 2] = [CheckoutDir::NAME, ".claude/settings.local.json"];

/// The checkout in which the gates of a commit run, locked until it is dropped.
#[derive(Debug)]
pub(super) struct GateCheckout {
    pub(super) dir: PathBuf,
    /// Whether it is the branch's worktree, in which its agent may be working.
    pub(super) shared: bool,
    _lock: Option<Lock>,
}

impl GateCheckout {
    /// The worktree of the branch, if it is clean and at `commit`.
    pub(super) fn find_own(repo: &Repo, branch: &BranchName, commit: &str) -> Result<Option<Self>, GitError> {
        let own = repo.git().worktrees()?.into_iter().find(|tree| tree.branch() == Some(branch));
        let Some(own) = own.filter(|tree| tree.commit.as_deref() == Some(commit) && tree.path.is_dir())
        else {
            return Ok(None);
        };
        let clean = changes(&own.path)?.is_empty();
        Ok(clean.then_some(Self { dir: own.path, shared: true, _lock: None }))
    }

    /// The kept checkout at `dir`, created if missing, with this commit checked out.
    pub(super) fn keep(repo: &Repo, dir: &Path, commit: &str) -> Result<Self, GateError> {
        let lock = Lock::wait(&lock_of(dir))?;
        let checkout = match TestCheckout::find(repo, dir) {
            Some(checkout) => checkout,
            None => make(repo, dir, commit)?,
        };
        checkout.check_out(commit)?;
        Ok(Self { dir: dir.to_path_buf(), shared: false, _lock: Some(lock) })
    }
}

/// Prepares a checkout like a new worktree: copies ignored files and runs the setup. This is repeated for every commit,
/// because each may need a different setup.
pub fn prepare(
    preparation: &Preparation,
    repo: &Repo,
    dir: &Path,
    branch: &BranchName,
    on_line: &mut dyn FnMut(&str),
) -> Result<(), GateError> {
    if !repo.bare {
        copy::copy_ignored(&preparation.copy, &repo.root, dir)?;
    }
    let made = setup::run(&preparation.setup, dir, branch, |line| on_line(line));
    match made.status {
        SetupStatus::None | SetupStatus::Success => Ok(()),
        SetupStatus::Failed | SetupStatus::Timeout | SetupStatus::Untrusted => {
            Err(GateError::NotReady(made.error.unwrap_or_default()))
        }
    }
}

/// The directory of a repository's kept checkouts, with a hash to separate repositories of the same name.
pub(super) fn kept_checkouts(dirs: &Dirs, repo: &Repo) -> PathBuf {
    let project = ProjectName::from_path(&repo.root);
    let real = repo.common_dir.canonicalize().unwrap_or_else(|_| repo.common_dir.clone());
    let key = TrustSubject::new("checkouts").with("repository", real.as_os_str().as_bytes()).fingerprint();
    let short = key.as_str().get(..12).unwrap_or_default();
    dirs.data().checkouts().join(format!("{project}-{short}"))
}

/// Uncommitted files, except those that git paw writes.
pub(super) fn changes(worktree: &Path) -> Result<Vec<StatusEntry>, GitError> {
    let mut entries = Git::at(worktree).status()?;
    entries.retain(|entry| !OURS.iter().any(|ours| entry.path.starts_with(ours)));
    Ok(entries)
}

fn make(repo: &Repo, dir: &Path, commit: &str) -> Result<TestCheckout, GateError> {
    if let Ok(mut entries) = std::fs::read_dir(dir)
        && entries.next().is_some()
    {
        return Err(GateError::InTheWay(dir.to_path_buf()));
    }
    if let Some(above) = dir.parent() {
        files::create_dir(above)?;
    }
    let lock = WorktreesLock::wait(&repo.common_dir)?;
    // git still knows a checkout whose directory was deleted.
    repo.git().prune_worktrees(&lock)?;
    Ok(TestCheckout::add(repo, dir, commit, &["--force"], &lock)?)
}
