//! The work in a worktree: everything that differs from where its branch left the default branch, uncommitted and untracked
//! files included.
//!
//! The worktree is read into a scratch repository, so no index is locked and no program that the repository configures runs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_core::paths::{CheckoutDir, PawDir};
use paw_host::git::{KeptWork, Repo, ScratchError, ScratchRepo, WorktreeSnapshot, WorktreeSnapshotter};
use serde::Serialize;

/// The work in one worktree, at one moment.
#[derive(Debug)]
pub struct WorkDiff {
    scratch: Arc<ScratchRepo>,
    base: String,
    snapshot: WorktreeSnapshot,
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Added,
    Deleted,
    Modified,
    Renamed,
}

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// The path before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<PathBuf>,
    /// Lines; `None` for a binary file.
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

impl WorkDiff {
    /// Reads the worktree. The base is where its branch left the default branch.
    pub fn take(repo: &Repo, worktree: &Path) -> Result<Self, ScratchError> {
        let scratch = Arc::new(ScratchRepo::open(&repo.common_dir, &PawDir::of(&repo.common_dir).radar())?);
        let excluded = vec![PathBuf::from(CheckoutDir::NAME)];
        let mut snapshotter = WorktreeSnapshotter::new(Arc::clone(&scratch), "diff", worktree, excluded)?;
        let main = repo.git().find_default_branch()?;
        let snapshot =
            snapshotter.take_whole(&main.map(|main| main.full_ref()).into_iter().collect::<Vec<_>>())?;
        let base = snapshotter.base().map_or_else(|| scratch.empty_tree().to_owned(), str::to_owned);
        Ok(Self { scratch, base, snapshot })
    }

    /// The work in a stored snapshot: a commit on top of the branch.
    pub fn of_snapshot(repo: &Repo, commit: &str) -> Result<Self, ScratchError> {
        let scratch = Arc::new(ScratchRepo::open(&repo.common_dir, &PawDir::of(&repo.common_dir).radar())?);
        let main = repo.git().find_default_branch()?.map(|main| main.full_ref());
        let bases: Vec<_> = main.into_iter().collect();
        let found = scratch.find_work(commit, &bases)?;
        let (tree, head) = found.work.split_once(' ').unwrap_or((&found.work, ""));
        let (tree, head) = (tree.to_owned(), (!head.is_empty()).then(|| head.to_owned()));
        let of_head = head.as_ref().map(|head| repo.git().find_object(head, "tree")).transpose()?.flatten();
        let snapshot = WorktreeSnapshot {
            clean: of_head.as_ref() == Some(&tree),
            work: found.work,
            tree,
            head,
            changed: found.changed,
            left_out: Vec::new(),
            emptied_dirs: found.emptied_dirs,
        };
        Ok(Self { scratch, base: found.base, snapshot })
    }

    /// Stores the work as a commit on top of the branch, under `full_ref`. It may add up to `largest` bytes.
    pub fn keep(&self, full_ref: &str, largest: u64) -> Result<KeptWork, ScratchError> {
        self.scratch.keep_work(&self.snapshot.work, full_ref, largest)
    }

    /// Changed files whose content is not known: too large, unreadable, or converted by a filter.
    pub fn left_out(&self) -> &[PathBuf] {
        &self.snapshot.left_out
    }

    /// The commit at which the work began.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether everything is committed.
    pub fn is_committed(&self) -> bool {
        self.snapshot.clean
    }

    /// The files that differ, by path.
    pub fn files(&self) -> Result<Vec<FileChange>, ScratchError> {
        let kinds = self.run(&["--raw", "-z", "--abbrev=40"], &[])?;
        let counts = self.run(&["--numstat", "-z"], &[])?;
        Ok(parse(&kinds, &counts))
    }

    /// The patch of these paths, or of everything if there are none. `options` are formatting options of `git diff`.
    pub fn patch(&self, options: &[&str], paths: &[PathBuf]) -> Result<Vec<u8>, ScratchError> {
        self.run(&[&["--patch", "--src-prefix=a/", "--dst-prefix=b/"], options].concat(), paths)
    }

    fn run(&self, options: &[&str], paths: &[PathBuf]) -> Result<Vec<u8>, ScratchError> {
        let fixed = ["diff-tree", "-r", "-M", "--no-commit-id", "--no-ext-diff", "--no-textconv"];
        let sides = [self.base.as_str(), &self.snapshot.tree, "--"];
        let words = fixed.iter().chain(options).chain(&sides).map(OsString::from);
        Ok(self.scratch.read(words.chain(paths.iter().map(OsString::from)))?)
    }
}

/// Joins `--raw -z` and `--numstat -z` of the same comparison, which list the files in the same order.
fn parse(kinds: &[u8], counts: &[u8]) -> Vec<FileChange> {
    let mut kinds = kinds.split(|byte| *byte == 0);
    let mut counts = counts.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let (Some(meta), Some(count)) = (kinds.next(), counts.next()) {
        let letter = meta.rsplit(|byte| *byte == b' ').next().and_then(|status| status.first());
        let Some(path) = kinds.next().filter(|_| letter.is_some()) else { break };
        let is_move = matches!(letter, Some(b'R' | b'C'));
        let new_path = if is_move { kinds.next() } else { None };
        let mut numbers = count.splitn(3, |byte| *byte == b'\t');
        let mut number = || numbers.next().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        let (added, removed) = (number(), number());
        if is_move {
            // The paths of a rename are fields of their own.
            let _ = (counts.next(), counts.next());
        }
        files.push(FileChange {
            path: to_path(new_path.unwrap_or(path)),
            old_path: new_path.map(|_| to_path(path)),
            kind: match letter {
                Some(b'A' | b'C') => FileChangeKind::Added,
                Some(b'D') => FileChangeKind::Deleted,
                Some(b'R') => FileChangeKind::Renamed,
                _ => FileChangeKind::Modified,
            },
            added,
            removed,
        });
    }
    files
}

fn to_path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changed_files_have_their_kind_and_their_lines() {
        let zeros = "0".repeat(40);
        let raw = format!(
            ":000000 100644 {zeros} {zeros} A\0new.rs\0:100644 100644 {zeros} {zeros} R090\0a.rs\0b\tc.rs\0:100644 000000 {zeros} {zeros} D\0x.bin\0"
        );
        let files = parse(raw.as_bytes(), b"3\t0\tnew.rs\x001\t2\t\0a.rs\0b\tc.rs\0-\t-\tx.bin\0");
        let rows: Vec<_> = files
            .iter()
            .map(|file| (file.path.to_str().unwrap(), file.kind, file.added, file.removed))
            .collect();
        assert_eq!(
            rows,
            [
                ("new.rs", FileChangeKind::Added, Some(3), Some(0)),
                ("b\tc.rs", FileChangeKind::Renamed, Some(1), Some(2)),
                ("x.bin", FileChangeKind::Deleted, None, None),
            ]
        );
        assert_eq!(files[1].old_path.as_deref(), Some(Path::new("a.rs")));
    }

    proptest! {
        #[test]
        fn no_listing_makes_the_parser_fail(
            kinds in proptest::collection::vec(any::<u8>(), 0..80),
            counts in proptest::collection::vec(any::<u8>(), 0..80)
        ) {
            let _ = parse(&kinds, &counts);
        }
    }
}
