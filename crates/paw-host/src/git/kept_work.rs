//! Work of a [`ScratchRepo`] that stays: a snapshot under a ref of the user's repository, where other machines fetch it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::scratch::{ScratchError, ScratchRepo};
use super::{Git, GitError, path, run, text};

/// What happened to a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptWork {
    /// This commit is stored.
    Stored(String),
    /// This commit was stored before.
    Unchanged(String),
    /// It has more bytes than are allowed, and the ref is as before.
    TooLarge(u64),
}

impl ScratchRepo {
    /// Stores a snapshot's work as a commit on top of its HEAD in the user's repository, under `full_ref`. New objects may have
    /// up to `largest` bytes.
    pub fn keep_work(&self, work: &str, full_ref: &str, largest: u64) -> Result<KeptWork, ScratchError> {
        let commit = self.commit_work(work)?;
        let git = Git::at(self.common_dir());
        if git.find_object(full_ref, "commit")?.as_ref() == Some(&commit) {
            return Ok(KeptWork::Unchanged(commit));
        }
        let head = work.split_once(' ').map(|(_, head)| format!("^{head}"));
        let range: Vec<&str> = [commit.as_str()].into_iter().chain(head.as_deref()).collect();
        let usage = ["rev-list", "--objects", "--disk-usage"];
        let bytes = text(&run(&self.command(usage.into_iter().chain(range.iter().copied())))?);
        let bytes: u64 = bytes.parse().unwrap_or(u64::MAX);
        if bytes > largest {
            return Ok(KeptWork::TooLarge(bytes));
        }
        let pack = self.command(["pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset"]);
        let pack = run(&pack.input((range.join("\n") + "\n").into_bytes()))?;
        run(&git.plumbing(None, ["unpack-objects", "-q"]).input(pack))?;
        git.plumb(None, ["update-ref", full_ref, &commit])?;
        Ok(KeptWork::Stored(commit))
    }

    /// The work of a stored commit, with the files and the emptied directories since `bases`, like those of a
    /// [`WorktreeSnapshot`](super::WorktreeSnapshot).
    pub fn find_work(&self, commit: &str, bases: &[String]) -> Result<StoredWork, ScratchError> {
        let git = Git::at(self.common_dir());
        let missing =
            || GitError::Unexpected { command: "git rev-parse".to_owned(), answer: commit.to_owned() };
        let tree = git.find_object(commit, "tree")?.ok_or_else(missing)?;
        let head = git.find_object(&format!("{commit}^"), "commit")?;
        let mut known = Vec::new();
        for base in bases {
            known.extend(git.find_object(base, "commit")?);
        }
        let base = match &head {
            Some(head) if known.is_empty() => Some(head.clone()),
            Some(head) => git.find(["merge-base".to_owned(), head.clone()].into_iter().chain(known))?,
            None => None,
        };
        let base = base.unwrap_or_else(|| self.empty_tree().to_owned());
        let differences = self.differences(&base, &tree)?;
        let emptied_dirs = self.emptied_dirs(&tree, &differences)?;
        let work = head.map_or_else(|| tree.clone(), |head| format!("{tree} {head}"));
        Ok(StoredWork { work, base, changed: differences.into_keys().collect(), emptied_dirs })
    }

    /// The files that differ, with git's letter: `A`dded, `D`eleted, `M`odified or another `T`ype.
    pub(super) fn differences(&self, base: &str, tree: &str) -> Result<BTreeMap<PathBuf, u8>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", base, tree];
        let listing = run(&self.command(args))?;
        let fields: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
        Ok(fields.chunks_exact(2).filter_map(|pair| Some((path(pair[1]), *pair[0].first()?))).collect())
    }

    /// The directories of deleted files that the tree no longer has, if files were added, too.
    pub(super) fn emptied_dirs(
        &self,
        tree: &str,
        differences: &BTreeMap<PathBuf, u8>,
    ) -> Result<Vec<PathBuf>, ScratchError> {
        if !differences.values().any(|kind| *kind == b'A') {
            return Ok(Vec::new());
        }
        let deleted = differences.iter().filter(|(_, kind)| **kind == b'D').map(|(path, _)| path);
        let above = deleted.flat_map(|path| path.ancestors().skip(1)).map(Path::to_path_buf);
        let dirs: BTreeSet<PathBuf> = above.filter(|dir| !dir.as_os_str().is_empty()).collect();
        let mut emptied = Vec::new();
        for dir in dirs {
            if !self.find_item(tree, &dir)?.is_some_and(|item| item.is_directory()) {
                emptied.push(dir);
            }
        }
        Ok(emptied)
    }
}

/// The work in a stored commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWork {
    /// Names the work, as in a [`WorktreeSnapshot`](super::WorktreeSnapshot).
    pub work: String,
    /// Where the work began.
    pub base: String,
    pub changed: Vec<PathBuf>,
    pub emptied_dirs: Vec<PathBuf>,
}
