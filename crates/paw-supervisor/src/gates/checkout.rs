//! The checkouts that gates run in: one per branch, kept between runs, none of them an agent's worktree.
//!
//! What a run leaves in ignored files helps later runs of the same branch, and no other. A new checkout is seeded from that
//! of the main branch, which only code of the main branch has written to. A merge tests other code there; see [`MergeTrial`].

mod seed;
mod trial;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_core::paths::GateCheckoutsDir;
use paw_core::{AgentId, BranchName, ProjectName};
use paw_host::files::{self, Access, Dirs, Lock};
use paw_host::git::{CleanCheckout, Repo};
use paw_host::process;
use paw_host::trust::TrustSubject;

use super::stop::StopRequest;
use super::verify::GateError;

pub(crate) use trial::MergeTrial;

/// How often to look whether another run has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Where blocks cannot be shared, more than this is not copied.
const MOST_COPIED: u64 = 2 << 30;

/// The checkouts of one repository.
#[derive(Debug, Clone)]
pub struct GateCheckouts {
    repo: Repo,
    dir: GateCheckoutsDir,
    stop: StopRequest,
}

impl GateCheckouts {
    /// In the directory `dir`. Once `stop` is raised, waiting for a checkout ends.
    pub fn new(repo: &Repo, dir: &Path, stop: &StopRequest) -> Self {
        Self { repo: repo.clone(), dir: GateCheckoutsDir::of(dir), stop: stop.clone() }
    }

    pub(super) fn repo(&self) -> &Repo {
        &self.repo
    }

    pub(super) fn dir(&self) -> &GateCheckoutsDir {
        &self.dir
    }

    /// The checkout of a branch, for this process alone. Waits until another process has finished with it.
    pub(crate) fn open(
        &self,
        branch: &BranchName,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<GateCheckout, GateError> {
        let name = name_of(branch);
        let lock = self.wait(&name, branch, on_line)?;
        let mut checkout = GateCheckout {
            files: CleanCheckout::new(&self.repo, &self.dir.checkout(&name), &self.dir.state(&name)),
            dir: self.dir.clone(),
            name,
            is_new: false,
            _lock: lock,
        };
        checkout.files.require_free()?;
        // Left by a run whose git paw was killed.
        process::terminate(&process::processes_in(checkout.path()));
        trial::undo_interrupted(&checkout)?;
        let branch_file = self.dir.branch_file(&checkout.name);
        let is_known = files::load_text(&branch_file)?.is_some_and(|known| known == branch.as_str());
        if !is_known && self.dir.state(&checkout.name).is_dir() {
            checkout.files.remove()?;
        }
        if !checkout.files.exists() {
            seed::seed(self, branch, checkout.path())?;
            checkout.is_new = true;
        }
        files::write_atomic(&branch_file, branch.as_str().as_bytes(), Access::Usual)?;
        Ok(checkout)
    }

    /// Takes a checkout that no other process uses, if there is one.
    pub(super) fn find_idle(&self, branch: &BranchName) -> Result<Option<GateCheckout>, GateError> {
        let name = name_of(branch);
        let files = CleanCheckout::new(&self.repo, &self.dir.checkout(&name), &self.dir.state(&name));
        if !files.exists() {
            return Ok(None);
        }
        let Some(lock) = Lock::try_take(&self.dir.lock(&name))? else { return Ok(None) };
        let checkout = GateCheckout { files, dir: self.dir.clone(), name, is_new: false, _lock: lock };
        trial::undo_interrupted(&checkout)?;
        Ok(checkout.files.exists().then_some(checkout))
    }

    fn wait(
        &self,
        name: &str,
        branch: &BranchName,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Lock, GateError> {
        let mut is_told = false;
        loop {
            if self.stop.is_raised() {
                return Err(GateError::Interrupted);
            }
            if let Some(lock) = Lock::try_take(&self.dir.lock(name))? {
                return Ok(lock);
            }
            if !is_told {
                on_line(&format!("waiting: another run uses the checkout of {branch}"));
                is_told = true;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// A checkout in which gates run, locked until it is dropped.
#[derive(Debug)]
pub(crate) struct GateCheckout {
    files: CleanCheckout,
    dir: GateCheckoutsDir,
    name: String,
    is_new: bool,
    _lock: Lock,
}

impl GateCheckout {
    pub(crate) fn path(&self) -> &Path {
        self.files.dir()
    }

    pub(crate) fn files(&self) -> &CleanCheckout {
        &self.files
    }

    /// Whether no run of its branch has written to it.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Checks out the files of `commit`. Ignored files of earlier runs stay.
    pub(crate) fn check_out(&self, commit: &str) -> Result<(), GateError> {
        Ok(self.files.check_out(commit)?)
    }
}

/// The name of a branch's checkout. The hash separates branches with similar names.
pub(super) fn name_of(branch: &BranchName) -> String {
    const LONGEST: usize = 40;
    let slug: String = AgentId::slug(branch).as_str().chars().take(LONGEST).collect();
    let key = TrustSubject::new("checkout").with("branch", branch.as_str()).fingerprint();
    format!("{slug}-{}", key.as_str().get(..12).unwrap_or_default())
}

/// The directory of a repository's checkouts, with a hash to separate repositories of the same name.
pub(crate) fn checkouts_dir(dirs: &Dirs, repo: &Repo) -> PathBuf {
    let project = ProjectName::from_path(&repo.root);
    let real = fs::canonicalize(&repo.common_dir).unwrap_or_else(|_| repo.common_dir.clone());
    let key = TrustSubject::new("checkouts").with("repository", real.as_os_str().as_bytes()).fingerprint();
    let short = key.as_str().get(..12).unwrap_or_default();
    dirs.data().checkouts().join(format!("{project}-{short}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_with_the_same_slug_have_different_checkouts() {
        let name = |branch: &str| name_of(&BranchName::new(branch).unwrap());
        assert_ne!(name("feat/x"), name("feat-x"));
        assert!(name("feat/x").starts_with("feat-x-") && !name("release/1.2").contains('.'));
        assert!(name(&format!("feat/{}", "long".repeat(50))).len() < 60);
    }
}
