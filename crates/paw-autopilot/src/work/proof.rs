//! The checkout in which RED and GREEN are proven: the files that would be committed, and dependencies as they were
//! before the executor's first turn. Files that git ignores, files elsewhere and later changes cannot help a proof.
//!
//! - `seed`: ignored files such as `node_modules`, copied once when the run begins
//! - `recheck`: the tests of RED fail without the code and pass with it
//! - `test_runs`: runs tests on a tree
//! - `test_place`: makes variables point to the checkout instead of the worktree

mod recheck;
mod seed;
mod test_place;
mod test_runs;

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::lock_of;
use paw_host::files::{self, Access, FileError, Lock};
use paw_host::git::{CleanCheckout, IndexTrust};

pub use seed::Seed;
pub(super) use test_place::moved_variables;

use super::{ProjectContext, WorkError};

/// The checkout of one worktree.
#[derive(Debug)]
pub struct ProofCheckout {
    place: PathBuf,
    files: CleanCheckout,
    /// The index as the last checkout left it. `None` if another process may have changed it.
    index_digest: Option<u64>,
    /// The project inside the checkout.
    root: PathBuf,
    seed: Seed,
}

impl ProofCheckout {
    /// Creates the checkout of a new run: the last commit and a copy of the ignored files.
    pub(super) fn create(context: &ProjectContext) -> Result<Self, WorkError> {
        let place = place_of(context);
        if let Err(error) = prune(&context.data.proofs(), &place) {
            tracing::warn!(target: "paw::autopilot", "{error}");
        }
        let mut checkout = Self::at(context, place, Seed::default())?;
        checkout.write_files(&context.git.tree_of("HEAD")?, &context.git.line(["rev-parse", "HEAD"])?)?;
        checkout.seed = Seed::copy(&context.top, checkout.files.dir())?;
        Ok(checkout)
    }

    /// Opens the checkout of an earlier process of this run.
    pub(super) fn open(context: &ProjectContext, seed: Seed) -> Result<Self, WorkError> {
        let place = place_of(context);
        if !place.join(name_of(context)).is_dir() {
            return Err(WorkError::NoCheckout(place));
        }
        Self::at(context, place, seed)
    }

    fn at(context: &ProjectContext, place: PathBuf, seed: Seed) -> Result<Self, WorkError> {
        let dir = place.join(name_of(context));
        claim(&context.data.proofs(), &place, &context.top)?;
        files::create_dir(&dir)?;
        let files = CleanCheckout::new(&context.repo, &dir, &place.join("state"));
        let files = files.with_submodules_of(&context.top).with_exclude_rules();
        let inside = context.project.root.strip_prefix(&context.top).unwrap_or(Path::new(""));
        let root = dir.canonicalize().map_err(FileError::when("find", &dir))?.join(inside);
        Ok(Self { place, files, index_digest: None, root, seed })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn dir(&self) -> &Path {
        self.files.dir()
    }

    pub(super) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// An index file for building trees.
    pub(super) fn index(&self) -> PathBuf {
        self.place.join("index")
    }

    /// Makes the checkout hold exactly this tree and the copied files. Build output of earlier runs stays.
    pub(super) fn check_out(&mut self, tree: &str, head: &str) -> Result<(), WorkError> {
        self.write_files(tree, head)?;
        for path in self.files.ignored()? {
            if !self.seed.covers(&path) && !seed::is_build_output(&path) {
                remove(&self.files.dir().join(path))?;
            }
        }
        Ok(())
    }

    fn write_files(&mut self, tree: &str, head: &str) -> Result<(), WorkError> {
        let is_ours = self.index_digest.is_some() && self.index_digest == self.files.index_digest();
        let trust = if is_ours { IndexTrust::Trusted } else { IndexTrust::Distrusted };
        self.files.check_out_tree(tree, head, trust)?;
        self.index_digest = self.files.index_digest();
        Ok(())
    }

    /// A dependency directory that was changed since it was copied, by tests or by another process.
    pub(super) fn find_changed_dependency(&self) -> Option<PathBuf> {
        self.seed.find_changed(self.files.dir())
    }

    /// Tracked files that the tests changed.
    pub(super) fn changed(&self) -> Result<Vec<PathBuf>, WorkError> {
        Ok(self.files.changed()?)
    }

    /// Removes the checkout at the end of a run.
    pub(super) fn remove(context: &ProjectContext) {
        let place = place_of(context);
        if place.exists()
            && let Err(error) = discard(&context.data.proofs(), &[place], |_| true)
        {
            tracing::warn!(target: "paw::autopilot", "{error}");
        }
    }
}

fn remove(path: &Path) -> Result<(), FileError> {
    let is_dir = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::when("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The directory of a worktree's checkout. Its files are below, in a directory named like the worktree.
fn place_of(context: &ProjectContext) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    context.top.hash(&mut hasher);
    context.data.proofs().join(format!("{:016x}", hasher.finish()))
}

fn name_of(context: &ProjectContext) -> PathBuf {
    context.top.file_name().map_or_else(|| "checkout".into(), PathBuf::from)
}

/// Holds the path of the worktree that a checkout belongs to.
fn owner_of(place: &Path) -> PathBuf {
    place.join("worktree")
}

/// Creates the directory of a checkout. Under the lock it is never seen without its owner.
fn claim(all: &Path, place: &Path, worktree: &Path) -> Result<(), FileError> {
    files::create_private_dir(all)?;
    let _lock = Lock::wait(&lock_of(all))?;
    files::create_private_dir(place)?;
    files::write_atomic(&owner_of(place), worktree.as_os_str().as_encoded_bytes(), Access::Usual)
}

/// Removes the checkout at `own` and those of worktrees that no longer exist.
fn prune(all: &Path, own: &Path) -> Result<(), FileError> {
    files::create_private_dir(all)?;
    let places = fs::read_dir(all).into_iter().flatten().flatten().map(|entry| entry.path());
    discard(all, &places.collect::<Vec<_>>(), |place| place == own || !has_owner(place))
}

fn has_owner(place: &Path) -> bool {
    let owner = fs::read(owner_of(place)).map(OsString::from_vec);
    owner.is_ok_and(|owner| Path::new(&owner).exists())
}

/// Removes the checkouts for which `unused` returns true. Moves them away under the lock, so that no run sees a partial one.
fn discard(all: &Path, places: &[PathBuf], unused: impl Fn(&Path) -> bool) -> Result<(), FileError> {
    let trash = tempfile::tempdir_in(all).map_err(FileError::when("create a directory in", all))?;
    let lock = Lock::wait(&lock_of(all))?;
    for (number, place) in places.iter().enumerate() {
        if place != trash.path() && unused(place) {
            match fs::rename(place, trash.path().join(number.to_string())) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FileError::when("remove", place)(error));
                }
                _ => {}
            }
        }
    }
    drop(lock);
    match trash.close() {
        // Another run may have found it and removed it.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::when("remove old checkouts in", all)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn starting_run_keeps_its_checkout_while_others_start() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().join("proofs");
        thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let (all, worktree) = (&all, dir.path());
                scope.spawn(move || {
                    let place = all.join(name);
                    for _ in 0..50 {
                        prune(all, &place).unwrap();
                        claim(all, &place, worktree).unwrap();
                        assert!(has_owner(&place));
                    }
                });
            }
        });
        fs::remove_file(owner_of(&all.join("a"))).unwrap();
        prune(&all, &all.join("b")).unwrap();
        let left: Vec<_> = fs::read_dir(&all).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["c"], "the one without an owner and our own are gone");
    }
}
