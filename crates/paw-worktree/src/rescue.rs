//! Rescues: work that a removal, reset or prune would destroy is stored first, and can be restored from here.
//!
//! A rescue is a commit under `refs/paw/rescue/<id>`. Its tree is the worktree as it was, so plain git can show and
//! compare it. Its parents are the commit that was checked out, a commit with the tree of the index, a `state` commit,
//! and every commit that only this worktree refers to. The state's tree holds the exact bytes of every changed,
//! untracked and, if requested, ignored file; the index itself; a merge or rebase in progress; and a manifest with
//! kind, permissions and path of each (`manifest`). The commit message holds the data that a list needs (`header`).
//!
//! The ref is written last: a crash leaves either no rescue or a complete one. A rescue that was returned is on the disk,
//! with every object it refers to, so that a power cut after the deletion leaves it readable. The worktree, its index, HEAD, reflogs and
//! the stash stay unchanged. Rescues never expire; only [`forget`] deletes one.
//!
//! Not stored: empty directories (except in nested repositories), sockets and pipes, and changes of line endings that
//! git itself ignores.
//!
//! Nested repositories, including submodules and those in ignored directories, are stored completely if they contain
//! work: their files and their git directory, so that branches, stashes and reflogs are restored too.

mod allowed_paths;
mod branch;
mod error;
mod fetched;
mod files;
mod header;
mod id;
mod ignored_repositories;
mod list;
mod load;
mod manifest;
mod part_of;
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
pub use fetched::{RefusedRescue, take_fetched};
pub use id::PREFIX as REFS;
pub(crate) use ignored_repositories::find_ignored_repositories;
pub(crate) use list::require_with_tip;
pub use list::{find_record, forget, list, require};
pub(crate) use part_of::{is_part_of, is_rest_of_removal};
pub use record::{RelinkedWorktree, restore_record, store_record};
pub(crate) use restore::restore_new;
pub use restore::{RestoreInto, RestoreOptions, RestoredRescue, restore};
pub use show::{RescueContents, RescuedCommit, RescuedFile, RescuedFileKind, show};
pub use store::{store_commit, store_if_needed, store_tip};
pub use uncommitted::find_ignored;
pub use unreachable::is_merged;

/// The worktree that is about to be removed, and what to store of it.
#[derive(Debug, Clone, Copy)]
pub struct RescueRequest<'a> {
    pub repo: &'a Repo,
    pub worktree: &'a Path,
    /// The branch of the worktree. Defaults to the one that is checked out.
    pub branch: Option<&'a BranchName>,
    /// One line for the user: `worktree removed`, `purge`, …
    pub reason: &'a str,
    pub include_ignored: bool,
    /// The branch is deleted too, so its commits may be lost as well.
    pub delete_branch: bool,
}

/// The source of a rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RescueKind {
    /// A worktree with its files.
    Worktree,
    /// Git's record of a worktree whose directory was missing.
    Record,
    /// The tip of a branch.
    Tip,
}

/// A stored rescue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rescue {
    pub id: String,
    /// `refs/paw/rescue/<id>`
    pub reference: String,
    /// The commit the reference points to.
    pub commit: String,
    pub kind: RescueKind,
    pub branch: Option<BranchName>,
    /// The path of the worktree.
    #[serde(serialize_with = "lossy_option")]
    pub worktree: Option<PathBuf>,
    pub reason: String,
    pub created_at: Timestamp,
    /// The commit that was checked out. None on an unborn branch.
    pub head: Option<String>,
    /// Ignored files and directories that were not stored.
    #[serde(serialize_with = "lossy_list")]
    pub ignored_left_behind: Vec<PathBuf>,
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
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
