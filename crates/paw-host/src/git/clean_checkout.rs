//! A directory with exactly the files of one commit or tree, in which programs that are not trusted may run: gates, and
//! autopilot's tests.
//!
//! It is not a worktree of the user's repository. Its git directory is private: it reads the objects of the repository and
//! has a copy of its refs, but none of its settings, hooks, attributes, exclude rules or replacements, which any agent can
//! change. git commands of the programs that run there work, and act on this copy alone. Ignored files stay between
//! checkouts, so that builds are incremental.
//!
//! The state directory next to it holds what decides which files are up to date. It is rewritten for every checkout and
//! should be out of reach of the programs.

mod private_repo;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorReport};

use super::worktree_tree::{LIST_IGNORED, parse_ignored};
use super::{Git, GitError, Repo, find_linked_admin_dir, parse_index_entries, path, run, text};
use crate::files::{FileError, create_dir, remove_all, unlock_dirs};
use crate::process::Command;

use private_repo::PrivateRepo;

/// A failed checkout.
#[derive(Debug, thiserror::Error)]
pub enum CleanCheckoutError {
    #[error("cannot create a checkout at {}: the directory is not empty", .0.display())]
    InTheWay(PathBuf),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for CleanCheckoutError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::InTheWay(_) => {
                ErrorReport::new(paw_core::ErrorCode::FailedPrecondition, self).hint("move it away")
            }
            Self::Git(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// Whether the index of a checkout decides which files are up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexTrust {
    Trusted,
    /// Another program may have written it: every file is compared by its content.
    Distrusted,
}

/// See the module's documentation.
#[derive(Debug, Clone)]
pub struct CleanCheckout {
    /// The git directory whose objects it reads.
    common_dir: PathBuf,
    /// A checkout of the same repository with initialized submodules.
    submodules_of: Option<PathBuf>,
    /// Whether files that only `info/exclude` ignores stay.
    keeps_excluded: bool,
    dir: PathBuf,
    state: PathBuf,
}

impl CleanCheckout {
    /// The checkout at `dir`, whose state is kept in `state`. Creates nothing.
    pub fn new(repo: &Repo, dir: &Path, state: &Path) -> Self {
        Self {
            common_dir: repo.common_dir.clone(),
            submodules_of: (!repo.bare).then(|| repo.root.clone()),
            keeps_excluded: false,
            dir: dir.to_path_buf(),
            state: state.to_path_buf(),
        }
    }

    /// Takes submodules from this checkout instead of the main one.
    #[must_use]
    pub fn with_submodules_of(self, checkout: &Path) -> Self {
        Self { submodules_of: Some(checkout.to_path_buf()), ..self }
    }

    /// Also keeps files that `info/exclude` ignores. For callers that notice changes of those rules.
    #[must_use]
    pub fn with_exclude_rules(self) -> Self {
        Self { keeps_excluded: true, ..self }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it has been checked out before.
    pub fn exists(&self) -> bool {
        self.index().is_file() && self.dir.is_dir()
    }

    /// Fails if the directory contains files and is not one of ours.
    pub fn require_free(&self) -> Result<(), CleanCheckoutError> {
        let is_empty = fs::read_dir(&self.dir).map_or(true, |mut entries| entries.next().is_none());
        if is_empty || self.state.is_dir() {
            return Ok(());
        }
        Err(CleanCheckoutError::InTheWay(self.dir.clone()))
    }

    /// Makes the tracked files those of `commit`, and removes all others except ignored ones.
    pub fn check_out(&self, commit: &str) -> Result<(), CleanCheckoutError> {
        self.check_out_tree(commit, commit, IndexTrust::Trusted)
    }

    /// Makes the tracked files those of `tree`, which may be in no commit yet. `head` becomes HEAD.
    pub fn check_out_tree(
        &self,
        tree: &str,
        head: &str,
        index: IndexTrust,
    ) -> Result<(), CleanCheckoutError> {
        self.require_free()?;
        create_dir(&self.dir)?;
        remove_all(&self.dir.join(".git"))?;
        let private = PrivateRepo::load(&self.common_dir)?;
        private.write(&self.git_dir(), head, &["index", "objects"])?;
        if self.keeps_excluded {
            self.copy_exclude_rules(&self.git_dir())?;
        }
        if self.index().is_file() && (index == IndexTrust::Distrusted || self.has_flags()?) {
            self.rebuild_index(tree)?;
        }
        self.write_files(tree).or_else(|_| {
            // Programs leave directories without write permission.
            unlock_dirs(&self.dir);
            self.write_files(tree)
        })?;
        self.check_out_submodules()?;
        self.install(&private, head)
    }

    /// Tracked files that differ from what was checked out last.
    pub fn changed(&self) -> Result<Vec<PathBuf>, GitError> {
        let args =
            ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];
        let listing = self.plumb(&args)?;
        Ok(listing.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path).collect())
    }

    /// Writes these tracked files again, as they were checked out last.
    pub fn restore(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        let names: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        run(&self.plumbing(&["checkout-index", "--force", "--index", "-z", "--stdin"]).input(names)).map(drop)
    }

    /// Ignored files and directories. A directory that is ignored as a whole is one entry.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, GitError> {
        Ok(parse_ignored(&self.plumb(&LIST_IGNORED)?))
    }

    /// Recognizes the index that the last checkout left.
    pub fn index_digest(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        fs::read(self.index()).ok()?.hash(&mut hasher);
        Some(hasher.finish())
    }

    /// Rebases `tip` onto `onto` in this checkout. The new commits are stored in the repository; no ref points to them. The
    /// inner error says why git could not.
    pub fn rebase(&self, tip: &str, onto: &str) -> Result<Result<String, String>, CleanCheckoutError> {
        self.check_out(tip)?;
        let settings = [
            "rebase.autoStash=false",
            "rebase.autoSquash=false",
            "rebase.updateRefs=false",
            "advice.mergeConflict=false",
        ];
        let options = settings.into_iter().flat_map(|setting| ["-c", setting]);
        let args: Vec<&str> = options.chain(["rebase", "--quiet", onto]).collect();
        let storing =
            |args: &[&str]| self.plumbing(args).env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"));
        let output = storing(&args).capture().map_err(GitError::from)?;
        if output.exit.success() {
            return Ok(Ok(text(&self.plumb(&["rev-parse", "--verify", "HEAD"])?)));
        }
        let conflicts = text(&self.plumb(&["diff", "--name-only", "--diff-filter=U"])?);
        let reason = if conflicts.is_empty() {
            String::from_utf8_lossy(&output.stderr).trim().to_owned()
        } else {
            format!("conflicts in {}", conflicts.lines().collect::<Vec<_>>().join(", "))
        };
        Ok(Err(reason))
    }

    /// Copies the index to `file`, for [`Self::replace`].
    pub fn save_index(&self, file: &Path) -> Result<(), FileError> {
        fs::copy(self.index(), file).map(drop).map_err(FileError::when("copy", file))
    }

    /// Replaces all files by an earlier copy of the directory and its index, which are moved here.
    pub fn replace(&self, files: &Path, index: &Path) -> Result<(), CleanCheckoutError> {
        self.clear()?;
        let moved = fs::rename(files, &self.dir).and_then(|()| fs::rename(index, self.index()));
        moved.map_err(FileError::when("move", files))?;
        // The copies have other inodes and times of change. Without this, git would write every file again. Exits with 1 if
        // a file differs; the next checkout writes it.
        let refresh = self.plumbing(&["update-index", "-q", "--really-refresh"]);
        refresh.capture().map(drop).map_err(GitError::from)?;
        Ok(())
    }

    /// Deletes all files. The next checkout writes them again.
    pub fn clear(&self) -> Result<(), FileError> {
        remove_all(&self.index())?;
        remove_all(&self.dir)
    }

    /// Deletes the checkout and its state.
    pub fn remove(&self) -> Result<(), FileError> {
        self.clear()?;
        remove_all(&self.state)
    }

    fn git_dir(&self) -> PathBuf {
        self.state.join("git")
    }

    fn index(&self) -> PathBuf {
        self.git_dir().join("index")
    }

    fn write_files(&self, commit: &str) -> Result<(), GitError> {
        self.plumb(&["read-tree", "--reset", "-u", "--no-recurse-submodules", commit])?;
        // A file that an earlier commit ignored may be untracked in this one.
        self.plumb(&["clean", "-ffd", "--quiet"]).map(drop)
    }

    /// Replaces an index that another program may have written: every file is compared by its content with `tree`. Files that
    /// are right keep their times, so that builds stay incremental.
    fn rebuild_index(&self, tree: &str) -> Result<(), CleanCheckoutError> {
        remove_all(&self.index())?;
        self.plumb(&["read-tree", tree])?;
        // Exits with 1 if a file differs.
        let refresh = self.plumbing(&["update-index", "-q", "--refresh"]);
        refresh.capture().map(drop).map_err(GitError::from)?;
        Ok(())
    }

    /// Whether git would skip files because of flags in the index. No checkout of ours sets one, so something else wrote to it.
    fn has_flags(&self) -> Result<bool, CleanCheckoutError> {
        let listing =
            self.plumbing(&["ls-files", "-z", "-v", "--stage"]).capture().map_err(GitError::from)?;
        let is_clean = listing.exit.success()
            && parse_index_entries(&listing.stdout).iter().all(|entry| !entry.unwatched && !entry.skipped);
        Ok(!is_clean)
    }

    /// Checks out every submodule that is initialized in the main checkout, from its objects there. Others stay empty.
    fn check_out_submodules(&self) -> Result<(), CleanCheckoutError> {
        let Some(main) = self.submodules_of.as_deref().filter(|_| self.dir.join(".gitmodules").is_file())
        else {
            return Ok(());
        };
        let entries = parse_index_entries(&self.plumb(&["ls-files", "-z", "-v", "--stage"])?);
        for entry in entries.iter().filter(|entry| entry.is_submodule()) {
            let there = main.join(&entry.path);
            let Some(common_dir) = find_git_dir(&there) else { continue };
            let name = entry.path.to_string_lossy().replace('/', "%2f");
            let submodule = Self {
                common_dir,
                submodules_of: Some(there),
                keeps_excluded: self.keeps_excluded,
                dir: self.dir.join(&entry.path),
                state: self.state.join("modules").join(name),
            };
            // What an earlier commit left there is of no use.
            if !submodule.exists() {
                remove_all(&submodule.dir)?;
            }
            match submodule.check_out(&entry.oid) {
                Err(CleanCheckoutError::Git(problem)) => {
                    tracing::warn!(target: "paw::tests", "submodule not filled: {problem}");
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Gives the programs that run here a git directory of their own.
    fn install(&self, private: &PrivateRepo, commit: &str) -> Result<(), CleanCheckoutError> {
        let git_dir = self.dir.join(".git");
        private.write(&git_dir, commit, &[])?;
        copy(&self.index(), &git_dir.join("index"))?;
        Ok(self.copy_exclude_rules(&git_dir)?)
    }

    fn copy_exclude_rules(&self, git_dir: &Path) -> Result<(), FileError> {
        create_dir(&git_dir.join("info"))?;
        copy(&self.common_dir.join("info/exclude"), &git_dir.join("info/exclude"))
    }

    fn plumb(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        run(&self.plumbing(args))
    }

    /// A git command on the files of this checkout, with our own git directory.
    fn plumbing(&self, args: &[&str]) -> Command {
        Git::at(&self.dir)
            .quiet(args.iter().copied())
            .env("GIT_DIR", self.git_dir())
            .env("GIT_WORK_TREE", &self.dir)
            .env("GIT_NO_REPLACE_OBJECTS", "1")
    }
}

/// Copies a file, if it exists.
fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    match fs::copy(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::when("copy", from)(error)),
        _ => Ok(()),
    }
}

/// The git directory of a submodule, whose objects and refs are its own.
fn find_git_dir(submodule: &Path) -> Option<PathBuf> {
    let inner = submodule.join(".git");
    if inner.is_dir() {
        return Some(inner);
    }
    find_linked_admin_dir(submodule).filter(|dir| dir.join("objects").is_dir())
}
