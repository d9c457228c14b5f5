//! A temporary bare repository for work that must leave no trace in the user's repository.
//!
//! It reads the objects of the user's repository and stores its own separately. It ignores the user's configuration, so
//! no merge driver, filter, hook or monitor runs, and it fetches nothing.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use paw_core::{Diagnostic, ErrorReport};
use tempfile::TempDir;

use super::object_store::ObjectStore;
use super::plumbing::c_quote;
use super::{Git, GitError, run, text};
use crate::files::{Access, FileError, Lock, create_private_dir, write_atomic};
use crate::process::Command;

const PREFIX: &str = "scratch-";

/// The least that a loose object needs on most file systems.
pub(super) const OBJECT_BYTES: u64 = 4096;

/// A failed operation in a scratch repository.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for ScratchError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Git(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// Deleted when dropped. [`ScratchRepo::open`] deletes those that a crash left behind.
#[derive(Debug)]
pub struct ScratchRepo {
    common_dir: PathBuf,
    empty_tree: String,
    /// Approximate number of bytes stored here since it was measured.
    written: AtomicU64,
    /// Ended before the directory is deleted.
    objects: ObjectStore,
    _held: Lock,
    dir: TempDir,
}

impl ScratchRepo {
    /// Creates one for the repository at `common_dir`, in a directory below `parent`.
    pub fn open(common_dir: &Path, parent: &Path) -> Result<Self, ScratchError> {
        create_private_dir(parent)?;
        let _one_at_a_time = Lock::wait(&parent.join("lock"))?;
        remove_abandoned(parent);
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(parent)
            .map_err(FileError::when("create a directory in", parent))?;
        let held = Lock::wait(&dir.path().join("lock"))?;
        let format = Git::at(common_dir).line(["rev-parse", "--show-object-format"])?;
        let bare = dir.path().join("git");
        let init = ["init", "--quiet", "--bare", "--template="].map(OsString::from);
        let format = OsString::from(format!("--object-format={format}"));
        run(&isolated(&Git::at(dir.path()).command(init.into_iter().chain([format, bare.clone().into()]))))?;
        let mut theirs = common_dir.join("objects").into_os_string();
        theirs.push("\n");
        write_atomic(&bare.join("objects/info/alternates"), theirs.as_bytes(), Access::Usual)?;
        let mut scratch = Self {
            common_dir: common_dir.to_path_buf(),
            empty_tree: String::new(),
            written: AtomicU64::new(0),
            objects: ObjectStore::default(),
            _held: held,
            dir,
        };
        scratch.empty_tree = text(&run(&scratch.command(["mktree"]))?);
        Ok(scratch)
    }

    /// A git command in the scratch repository, isolated from system and user configuration.
    pub fn command<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let command = isolated(&Git::at(self.dir.path()).command(args)).env("GIT_DIR", self.bare());
        // The history of a shallow clone ends at the commits in this file.
        let shallow = self.common_dir.join("shallow");
        if shallow.exists() { command.env("GIT_SHALLOW_FILE", shallow) } else { command }
    }

    /// The output of a git command in the scratch repository. Paths in `args` are literal.
    pub fn read<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Result<Vec<u8>, GitError> {
        run(&self.command(args).env("GIT_LITERAL_PATHSPECS", "1"))
    }

    /// Makes a command store its new objects here.
    pub fn storing(&self, command: Command) -> Command {
        command.env("GIT_OBJECT_DIRECTORY", self.bare().join("objects")).env("GIT_NO_LAZY_FETCH", "1")
    }

    /// Whether a commit was stored here, rather than in another scratch repository.
    pub fn has_commit(&self, commit: &str) -> bool {
        let (dir, name) = commit.split_at(commit.len().min(2));
        self.bare().join("objects").join(dir).join(name).is_file()
    }

    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub fn empty_tree(&self) -> &str {
        &self.empty_tree
    }

    pub(super) fn objects(&self) -> &ObjectStore {
        &self.objects
    }

    /// The path of an auxiliary file next to the repository.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a command store its new objects in a directory that is deleted with the returned guard. They can refer to those
    /// stored here.
    pub(super) fn storing_nothing(&self, command: Command) -> Result<(Command, TempDir), FileError> {
        let parent = self.dir.path();
        let objects = tempfile::Builder::new()
            .prefix("objects-")
            .tempdir_in(parent)
            .map_err(FileError::when("create a directory in", parent))?;
        let command = command
            .env("GIT_OBJECT_DIRECTORY", objects.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.bare().join("objects")));
        Ok((command, objects))
    }

    /// The disk space of everything stored here, in bytes. [`Self::written`] starts again at zero.
    pub fn measure(&self) -> u64 {
        self.written.store(0, Ordering::Relaxed);
        disk_bytes(self.dir.path())
    }

    /// Approximate number of bytes stored here since the last [`Self::measure`].
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(super) fn count_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    fn bare(&self) -> PathBuf {
        self.dir.path().join("git")
    }
}

/// For a list in a variable, where `:` separates paths.
pub(super) fn quoted(dir: &Path) -> String {
    c_quote(dir.as_os_str().as_bytes())
}

/// Files may disappear meanwhile.
fn disk_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

fn isolated(command: &Command) -> Command {
    command
        .clone()
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_COUNT", "0")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env_remove("GIT_CONFIG_PARAMETERS")
}

/// Removes directories whose lock is free: their owner has exited.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|entry| entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())) {
        let free = matches!(Lock::try_take(&entry.path().join("lock")), Ok(Some(_)));
        if free && let Err(error) = fs::remove_dir_all(entry.path()) {
            report(&entry.path(), &error);
        }
    }
}

fn report(path: &Path, error: &io::Error) {
    tracing::warn!("cannot remove {}: {error}", path.display());
}
