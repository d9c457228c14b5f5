//! Snapshots of a worktree: a tree of everything that is not ignored, stored in a [`ScratchRepo`].
//!
//! The worktree's index is copied, never written and never locked. The copy keeps the modification time of the original,
//! which git needs to detect racily clean entries. After the first snapshot only changed paths are read, until HEAD moves, and
//! a few changed files do not need the index (`quick`).
//! Filters are programs and never run: a filtered file keeps the blob of its index entry and is listed as changed.

mod quick;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scratch::{OBJECT_BYTES, ScratchError, ScratchRepo};
use super::{Git, GitError, failed, path, run, text};
use crate::files::FileError;
use crate::process::{Command, Exit};
use quick::StoringRules;

/// The content of larger files is not read; they are listed as changed.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Takes snapshots of one worktree.
#[derive(Debug)]
pub struct WorktreeSnapshotter {
    scratch: Arc<ScratchRepo>,
    git: Git,
    root: PathBuf,
    /// The directory of the worktree's index.
    admin_dir: PathBuf,
    index: PathBuf,
    /// Paths that are ignored, with everything below them.
    excluded: Vec<PathBuf>,
    rules: StoringRules,
    /// The attributes file of this computer.
    system_attributes: Option<PathBuf>,
    /// Changed paths whose content is not read.
    opaque: BTreeSet<PathBuf>,
    base_point: SnapshotBase,
    /// The tree of HEAD.
    head_tree: Option<String>,
    /// `None` before the first snapshot and after a failure.
    last: Option<LastSnapshot>,
}

/// What the next snapshot of a few files continues from.
#[derive(Debug)]
struct LastSnapshot {
    tree: String,
    /// The files that differ from the merge base, with git's letter.
    differences: BTreeMap<PathBuf, u8>,
    /// Changed paths that our copy of the index does not have yet.
    unindexed: BTreeSet<PathBuf>,
}

/// The HEAD of the worktree and where its branch began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct SnapshotBase {
    head: Option<String>,
    /// The merge base with the default branch, if there is one.
    base: Option<String>,
}

/// One snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeSnapshot {
    /// Names the work: equal work has an equal name. [`ScratchRepo::commit_work`] makes a commit of it.
    pub work: String,
    pub tree: String,
    pub head: Option<String>,
    /// There are no uncommitted changes.
    pub clean: bool,
    /// Every file that differs from the merge base, committed or not, sorted. New directories are listed file by file.
    pub changed: Vec<PathBuf>,
    /// Changed files whose content the snapshot does not have: too large, unreadable, or converted by a filter.
    pub left_out: Vec<PathBuf>,
    /// The directories that have files in the merge base and none here: moved or deleted. Sorted. Only listed if files were
    /// added, too, because otherwise nothing was moved.
    pub emptied_dirs: Vec<PathBuf>,
}

impl WorktreeSnapshotter {
    /// `id` is unique among the worktrees that share the scratch repository.
    pub fn new(
        scratch: Arc<ScratchRepo>,
        id: &str,
        root: &Path,
        excluded: Vec<PathBuf>,
    ) -> Result<Self, ScratchError> {
        let git = Git::at(root);
        let root = root.canonicalize().map_err(FileError::when("find", root))?;
        let admin_dir = run(&git.command(["rev-parse", "--absolute-git-dir"]))?;
        let admin_dir = path(admin_dir.strip_suffix(b"\n").unwrap_or(&admin_dir));
        let index = scratch.file(&format!("index-{id}"));
        Ok(Self {
            system_attributes: quick::find_system_attributes(&git),
            scratch,
            git,
            root,
            admin_dir,
            index,
            excluded,
            rules: StoringRules::default(),
            opaque: BTreeSet::new(),
            base_point: SnapshotBase::default(),
            head_tree: None,
            last: None,
        })
    }

    /// The canonical path of the worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn admin_dir(&self) -> &Path {
        &self.admin_dir
    }

    /// The commit at which the work began, as of the last full snapshot.
    pub fn base(&self) -> Option<&str> {
        self.base_point.base.as_deref()
    }

    /// Reads the whole worktree. Needed for the first snapshot, when HEAD moved, when ignore rules changed, and when
    /// changes may have been missed. `bases` are the refs that the work will be merged into.
    pub fn take_whole(&mut self, bases: &[String]) -> Result<WorktreeSnapshot, ScratchError> {
        self.last = None;
        let base_point = self.find_base_point(bases)?;
        if base_point.head != self.base_point.head {
            self.opaque.clear();
        }
        self.head_tree = match &base_point.head {
            Some(head) => self.git.find_object(head, "tree")?,
            None => None,
        };
        self.base_point = base_point;
        self.rules = self.find_rules()?;
        copy_with_time(&self.admin_dir.join("index"), &self.index)?;
        // Exits with 1 if anything changed; the next call lists the changes.
        let refresh = self.plumbing(["update-index", "-q", "--refresh"]);
        let output = refresh.capture().map_err(GitError::from)?;
        if !matches!(output.exit, Exit::Code(0 | 1)) {
            return Err(failed(&refresh, &output).into());
        }
        let listing = run(&self.plumbing(["ls-files", "-t", "-z", "-m", "-d", "-o", "--exclude-standard"]))?;
        let candidates: BTreeSet<PathBuf> = listing.split(|byte| *byte == 0).filter_map(candidate).collect();
        self.index_paths(&candidates)
    }

    /// Whether HEAD or the merge base has changed since the last full snapshot.
    pub fn has_moved(&self, bases: &[String]) -> Result<bool, ScratchError> {
        Ok(self.find_base_point(bases)? != self.base_point)
    }

    /// Reads only these paths, which are relative to the worktree and not ignored.
    pub fn take_paths(&mut self, paths: &BTreeSet<PathBuf>) -> Result<WorktreeSnapshot, ScratchError> {
        // Only a full snapshot distinguishes a submodule from another nested repository.
        let is_repository = |path: &PathBuf| self.root.join(path).join(".git").symlink_metadata().is_ok();
        let mut paths: BTreeSet<PathBuf> =
            paths.iter().filter(|path| !is_repository(path)).cloned().collect();
        if let Some(last) = self.last.take() {
            let sorted = self.sort(&paths);
            match self.edit(&last, &sorted) {
                Ok(Some(next)) => {
                    self.replace_opaque(&paths, sorted.opaque);
                    return self.finish(next);
                }
                Ok(None) => {}
                Err(error) => tracing::debug!("using the index: {error}"),
            }
            paths.extend(last.unindexed);
        }
        self.index_paths(&paths)
    }

    /// Adds these paths to our copy of the index and stores its tree.
    fn index_paths(&mut self, paths: &BTreeSet<PathBuf>) -> Result<WorktreeSnapshot, ScratchError> {
        self.apply(paths)?;
        let tree = text(&run(&self.plumbing(["write-tree", "--missing-ok"]))?);
        let differences = self.differences(&tree)?;
        self.finish(LastSnapshot { tree, differences, unindexed: BTreeSet::new() })
    }

    fn find_base_point(&self, bases: &[String]) -> Result<SnapshotBase, ScratchError> {
        let Some(head) = self.git.find_object("HEAD", "commit")? else { return Ok(SnapshotBase::default()) };
        let known = bases.iter().filter_map(|base| self.git.find_object(base, "commit").transpose());
        let known: Vec<String> = known.collect::<Result<_, _>>()?;
        let base = if known.is_empty() {
            Some(head.clone())
        } else {
            let args = ["merge-base".to_owned(), head.clone()].into_iter().chain(known);
            self.git.find(args)?
        };
        Ok(SnapshotBase { head: Some(head), base })
    }

    fn find_rules(&self) -> Result<StoringRules, GitError> {
        let keys = r"^(filter\..*\.(clean|process)|core\.(filemode|symlinks|ignorecase|precomposeunicode|attributesfile))$";
        let listing = self.git.find(["config", "-z", "--get-regexp", keys])?.unwrap_or_default();
        Ok(StoringRules::parse(&listing, self.scratch.common_dir(), self.system_attributes.clone()))
    }

    fn apply(&mut self, paths: &BTreeSet<PathBuf>) -> Result<(), ScratchError> {
        let mut sorted = self.sort(paths);
        if !self.rules.drivers.is_empty() && !sorted.stored.is_empty() {
            for filtered in self.filtered(&sorted.stored)? {
                sorted.stored.remove(&filtered);
                sorted.opaque.insert(filtered);
            }
        }
        self.replace_opaque(paths, sorted.opaque);
        self.scratch.count_written(sorted.bytes + OBJECT_BYTES * sorted.stored.len() as u64);
        let steps = [("--force-remove", &sorted.gone), ("--add", &sorted.stored)];
        for (how, paths) in steps.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            let args = ["update-index", how, "--remove", "--replace", "-z", "--stdin"];
            run(&self.plumbing(args).input(nul_separated(paths)))?;
        }
        Ok(())
    }

    fn replace_opaque(&mut self, paths: &BTreeSet<PathBuf>, opaque: BTreeSet<PathBuf>) {
        self.opaque.retain(|path| !paths.contains(path));
        self.opaque.extend(opaque);
    }

    fn sort(&self, paths: &BTreeSet<PathBuf>) -> SortedPaths {
        let mut sorted = SortedPaths::default();
        let mut parents = BTreeMap::new();
        for path in paths.iter().filter(|path| !is_excluded(path, &self.excluded)) {
            let parent = path.parent().unwrap_or(Path::new(""));
            let in_place = *parents.entry(parent).or_insert_with(|| {
                let parent = self.root.join(parent);
                // Files below a link that replaced a directory are not part of this worktree.
                parent.canonicalize().is_ok_and(|real| real == parent)
            });
            let file = self.root.join(path);
            match file.symlink_metadata() {
                Ok(metadata) if in_place && metadata.is_file() => {
                    if metadata.len() > LARGEST_FILE || File::open(&file).is_err() {
                        sorted.opaque.insert(path.clone());
                    } else {
                        sorted.bytes += metadata.len();
                        sorted.stored.insert(path.clone());
                    }
                }
                Ok(metadata) if in_place && metadata.is_symlink() => {
                    sorted.stored.insert(path.clone());
                }
                // A submodule at another commit.
                Ok(metadata) if in_place && metadata.is_dir() && file.join(".git").exists() => {
                    sorted.stored.insert(path.clone());
                }
                Ok(metadata) if in_place && !metadata.is_dir() => {}
                _ => {
                    sorted.gone.insert(path.clone());
                }
            }
        }
        sorted
    }

    /// The paths that a filter would change.
    fn filtered(&self, paths: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>, GitError> {
        let command = self.plumbing(["check-attr", "-z", "--stdin", "filter"]).input(nul_separated(paths));
        let answer = run(&command)?;
        let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
        let is_driver =
            |value: &[u8]| std::str::from_utf8(value).is_ok_and(|name| self.rules.drivers.contains(name));
        Ok(fields
            .chunks_exact(3)
            .filter(|answer| is_driver(answer[2]))
            .map(|answer| path(answer[0]))
            .collect())
    }

    fn finish(&mut self, last: LastSnapshot) -> Result<WorktreeSnapshot, ScratchError> {
        // The trees above a changed file, and perhaps a commit.
        self.scratch.count_written(4 * OBJECT_BYTES);
        let emptied_dirs = self.scratch.emptied_dirs(&last.tree, &last.differences)?;
        let mut changed: BTreeSet<PathBuf> = last.differences.keys().cloned().collect();
        changed.extend(self.opaque.iter().cloned());
        let tree = last.tree.clone();
        let clean = self.opaque.is_empty() && self.head_tree.as_ref() == Some(&tree);
        let head = self.base_point.head.clone();
        let work = head.as_ref().map_or_else(|| tree.clone(), |head| format!("{tree} {head}"));
        let changed = changed.into_iter().collect();
        let left_out = self.opaque.iter().cloned().collect();
        self.last = Some(last);
        Ok(WorktreeSnapshot { work, tree, head, clean, changed, left_out, emptied_dirs })
    }

    fn base_tree(&self) -> &str {
        self.base_point.base.as_deref().unwrap_or(self.scratch.empty_tree())
    }

    /// The files that differ from the merge base, with git's letter.
    fn differences(&self, tree: &str) -> Result<BTreeMap<PathBuf, u8>, GitError> {
        let mut differences = self.scratch.differences(self.base_tree(), tree)?;
        differences.retain(|path, _| !is_excluded(path, &self.excluded));
        Ok(differences)
    }

    fn plumbing<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut off = Vec::new();
        for driver in &self.rules.drivers {
            for setting in ["clean=", "process=", "required=false"] {
                off.extend(["-c".to_owned(), format!("filter.{driver}.{setting}")]);
            }
        }
        // The index is written with every edit; a checksum of all entries would be a third of the time.
        off.extend(["-c", "index.skipHash=true"].map(str::to_owned));
        let args = off.into_iter().chain(args.into_iter().map(str::to_owned));
        self.scratch.storing(self.git.plumbing(Some(&self.index), args))
    }
}

#[derive(Default)]
struct SortedPaths {
    stored: BTreeSet<PathBuf>,
    gone: BTreeSet<PathBuf>,
    opaque: BTreeSet<PathBuf>,
    bytes: u64,
}

/// Whether a path is one of `excluded` or below one.
pub fn is_excluded(path: &Path, excluded: &[PathBuf]) -> bool {
    excluded.iter().any(|excluded| path.starts_with(excluded))
}

/// A tag, a space and a path. A trailing slash marks a nested repository, which is skipped.
fn candidate(record: &[u8]) -> Option<PathBuf> {
    let name = record.get(2..)?;
    (!name.is_empty() && !name.ends_with(b"/")).then(|| path(name))
}

fn nul_separated(paths: &BTreeSet<PathBuf>) -> Vec<u8> {
    paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect()
}

fn copy_with_time(from: &Path, to: &Path) -> Result<(), FileError> {
    let copy = || {
        let mut original = match File::open(from) {
            Ok(file) => file,
            // A worktree without a checkout has no index.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::remove_file(to) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                };
            }
            Err(error) => return Err(error),
        };
        let time = original.metadata()?.modified()?;
        let mut bytes = Vec::new();
        original.read_to_end(&mut bytes)?;
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(to)?;
        file.write_all(&bytes)?;
        file.set_modified(time)
    };
    copy().map_err(FileError::when("copy", from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excluded_path_excludes_everything_below_it_and_nothing_else() {
        let excluded = [PathBuf::from(".git-paw"), PathBuf::from("AGENTS.md")];
        assert!(is_excluded(Path::new(".git-paw/logs/x"), &excluded));
        assert!(is_excluded(Path::new("AGENTS.md"), &excluded));
        assert!(!is_excluded(Path::new(".git-pawn"), &excluded));
        assert!(!is_excluded(Path::new("docs/AGENTS.md"), &excluded));
    }

    #[test]
    fn a_nested_repository_is_not_a_candidate() {
        assert_eq!(candidate(b"? nested/"), None);
        assert_eq!(candidate(b"C a b"), Some(PathBuf::from("a b")));
        assert_eq!(candidate(b""), None);
    }
}
