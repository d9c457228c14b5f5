//! Every git call.
//!
//! Pins the locale, prompts, editor and pager. Removes variables that point git to another repository. Passes paths and
//! refs so that git cannot mistake one for an option. Starts no program that a repository names in calls about a worktree that
//! agents write to (`safety`, `plumbing`). Parses only NUL-separated or single-line output; git's messages
//! are shown to people and never interpreted.

mod admin;
mod checkout;
mod clean_checkout;
mod compare;
mod differences;
mod discover;
mod hunks;
mod kept_work;
mod listing;
mod merge_tree;
mod merged;
mod object_store;
mod plumbing;
mod rebase;
mod reduced_merge;
mod refs;
mod repo;
mod safety;
mod scratch;
mod snapshot;
mod status;
mod submodule;
mod transfer;
mod tree;
mod tree_size;
mod version;
mod worktree;
mod worktree_tree;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError};

pub use admin::{find_admin_dir, find_linked_admin_dir, worktree_of};
pub use checkout::{BranchSource, BranchState};
pub use clean_checkout::{CleanCheckout, CleanCheckoutError, IndexTrust};
pub use compare::{AheadBehind, ComparedTip};
pub use differences::{Difference, DifferenceKind, IndexEntry, parse_index_entries};
pub use hunks::{ConflictLines, LineSpan};
pub use kept_work::{KeptWork, StoredWork};
pub use merge_tree::{Blob, MergeConflict, MergedFiles, TrialMerge};
pub use plumbing::{NewCommit, TreeEntry};
pub use rebase::RebaseOutcome;
pub use reduced_merge::ReducedMerge;
pub use refs::BranchLocation;
pub use repo::{Repo, sync_repository};
pub use scratch::{ScratchError, ScratchRepo};
pub use snapshot::{WorktreeSnapshot, WorktreeSnapshotter, is_excluded};
pub use status::{Change, FileMode, StatusEntry};
pub use submodule::fill_submodules;
pub use tree_size::{IndexedCheckout, find_indexed_checkout};
pub use version::{GitVersion, MINIMUM_VERSION};
pub use worktree::{GitWorktree, Head};
pub use worktree_tree::list_ignored;

use crate::process::{Command, Exit, Output, ProcessError};

/// A failed git call.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("not a git repository: {}", .0.display())]
    NotARepository(PathBuf),
    #[error("git is not installed")]
    NotInstalled,
    #[error("`{command}` {exit}{}", reason(stderr))]
    Failed { command: String, exit: Exit, stderr: String },
    #[error("cannot parse the output of `{command}`: {answer}")]
    Unexpected { command: String, answer: String },
    #[error(transparent)]
    Process(ProcessError),
}

fn reason(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}

impl From<ProcessError> for GitError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::NotFound(_) => Self::NotInstalled,
            other => Self::Process(other),
        }
    }
}

impl Diagnostic for GitError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::NotARepository(_) => PawError::NotAGitRepo.report(),
            Self::NotInstalled => PawError::GitNotInstalled.report(),
            Self::Failed { .. } | Self::Unexpected { .. } | Self::Process(_) => {
                ErrorReport::new(ErrorCode::Internal, self)
            }
        }
    }
}

/// Variables of an outer git (a hook, an alias) that would point ours to another repository.
const REPOSITORY_VARIABLES: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
];

/// The setting that panes get: git ignores directories that look like bare repositories.
pub const PANE_SETTING: (&str, &str) = ("safe.bareRepository", "explicit");

/// Our own git names its directory, which may be a bare repository.
fn has_pane_settings() -> bool {
    std::env::var("GIT_CONFIG_COUNT").is_ok_and(|count| count == "1")
        && std::env::var("GIT_CONFIG_KEY_0").is_ok_and(|key| key == PANE_SETTING.0)
}

/// git, run in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    dir: PathBuf,
}

impl Git {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A git command with its environment pinned.
    pub fn command<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let pinned = Command::new("git")
            .dir(&self.dir)
            .env("LC_ALL", "C")
            .env("LANGUAGE", "")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_EDITOR", ":")
            .env("GIT_SEQUENCE_EDITOR", ":")
            .env("GIT_MERGE_AUTOEDIT", "no")
            .env("GIT_PAGER", "cat");
        let pinned = safety::with_settings(pinned, has_pane_settings());
        REPOSITORY_VARIABLES.iter().fold(pinned, |command, name| command.env_remove(*name)).args(args)
    }

    /// Runs git and returns its output, whatever its exit code.
    pub fn output<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Result<Output, GitError> {
        Ok(self.command(args).capture()?)
    }

    /// Runs git and returns its standard output; an exit code other than 0 is an error.
    pub fn run<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Result<Vec<u8>, GitError> {
        run(&self.command(args))
    }

    /// Like [`Git::run`], as text without the trailing newline.
    pub fn line<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Result<String, GitError> {
        Ok(text(&self.run(args)?))
    }

    /// Runs a query whose exit code 1 means "not found": `symbolic-ref -q`, `config --get`, …
    pub fn find<A: Into<OsString>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Option<String>, GitError> {
        let command = self.command(args);
        let output = command.capture()?;
        match output.exit {
            Exit::Code(0) => Ok(Some(text(&output.stdout))),
            Exit::Code(1) => Ok(None),
            _ => Err(failed(&command, &output)),
        }
    }
}

fn run(command: &Command) -> Result<Vec<u8>, GitError> {
    let output = command.capture()?;
    if output.exit.success() { Ok(output.stdout) } else { Err(failed(command, &output)) }
}

fn failed(command: &Command, output: &Output) -> GitError {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    GitError::Failed { command: command.to_string(), exit: output.exit, stderr }
}

fn text(stdout: &[u8]) -> String {
    String::from_utf8_lossy(stdout.strip_suffix(b"\n").unwrap_or(stdout)).into_owned()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
