//! Nothing lost: whatever a removal, reset or prune would destroy is stored first, and comes back from here.
//!
//! A rescue is a commit under `refs/paw/rescue/<id>`. Its tree is the worktree as it was, so plain git can show and
//! compare it. Its parents are the commit that was checked out, a commit with the tree of the index, a `state` commit,
//! and every commit that only this worktree remembered. The state's tree holds the exact bytes of every changed,
//! untracked and, if asked for, ignored file; the index itself; a merge or rebase in progress; and a manifest with
//! kind, permissions and path of each (`manifest`). The commit message holds the facts that a list needs (`header`).
//!
//! The ref is written last: a crash leaves no rescue or a whole one. Nothing in the worktree, its index, HEAD, reflogs
//! or the stash is touched. No rescue is ever dropped by itself; [`forget`] is for people.
//!
//! What is not stored: directories without files in them (outside repositories in the worktree), sockets and pipes,
//! and line endings that git itself considers unchanged.
//!
//! Repositories inside the worktree, submodules and those in ignored directories included, are stored whole where they
//! hold something of their own: their files and every file of their git directory, so their branches, stashes and
//! reflogs return with them.

mod branch;
mod error;
mod files;
mod header;
mod id;
mod ignored_repositories;
mod list;
mod load;
mod manifest;
mod record;
mod restore;
mod restore_files;
mod restore_worktree;
mod show;
mod store;
mod uncommitted;
mod unreachable;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::BranchName;
use paw_host::git::Repo;
use serde::{Deserialize, Serialize};

pub use branch::BranchOutcome;
pub use error::RescueError;
pub(crate) use ignored_repositories::find_ignored_repositories;
pub use list::{find_record, forget, list, require};
pub use record::{RelinkedWorktree, restore_record, store_record};
pub use restore::{RestoreInto, RestoreOptions, RestoredRescue, restore};
pub use show::{RescueContents, RescuedCommit, RescuedFile, RescuedFileKind, show};
pub use store::{store_if_needed, store_tip};
pub use uncommitted::find_ignored;
pub use unreachable::is_merged;

/// What is about to be removed, and how much of it has to survive.
#[derive(Debug, Clone, Copy)]
pub struct RescueRequest<'a> {
    pub repo: &'a Repo,
    pub worktree: &'a Path,
    /// The branch that belongs to the worktree; without it, the one that is checked out there.
    pub branch: Option<&'a BranchName>,
    /// One line for people: `worktree removed`, `purge`, …
    pub reason: &'a str,
    pub include_ignored: bool,
    /// The branch is deleted with the worktree, so its commits count too.
    pub branch_goes_too: bool,
}

/// What a rescue was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RescueKind {
    /// A worktree with its files.
    Worktree,
    /// Git's record of a worktree whose directory was gone.
    Record,
    /// Where a branch pointed.
    Tip,
}

/// Something that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rescue {
    pub id: String,
    /// `refs/paw/rescue/<id>`
    pub reference: String,
    /// The commit the reference points to.
    pub commit: String,
    pub kind: RescueKind,
    pub branch: Option<BranchName>,
    /// Where the worktree was.
    #[serde(serialize_with = "lossy_option")]
    pub worktree: Option<PathBuf>,
    pub reason: String,
    pub created_at: Timestamp,
    /// The commit that was checked out, unless there was none yet.
    pub head: Option<String>,
    /// Ignored files and directories that were not stored.
    #[serde(serialize_with = "lossy_list")]
    pub ignored_left_behind: Vec<PathBuf>,
}

#[expect(clippy::ref_option, reason = "serde hands over the field as it is")]
fn lossy_option<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn lossy_list<S: serde::Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

fn bytes_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
