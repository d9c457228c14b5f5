//! What somebody's work amounts to at this moment: a commit of everything in a worktree that is not ignored, made
//! beside the repository ([`ScratchRepo`]).
//!
//! The worktree's own index is copied, never written and never locked. The copy keeps the time of the original, by
//! which git knows which of its entries it must not trust. After that only the paths that changed are looked at,
//! until HEAD moves. Filters are programs, so none is run: a filtered file keeps the blob its index names, and is
//! only known to have been touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use super::scratch::{ScratchError, ScratchRepo};
use super::{Git, GitError, failed, path, run, text};
use crate::files::FileError;
use crate::process::{Command, Exit};

/// A larger file is known to be changed, but what is in it is not looked at.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// The work in one worktree, followed from moment to moment.
#[derive(Debug)]
pub struct WorktreeSnapshotter {
    scratch: Arc<ScratchRepo>,
    git: Git,
    root: PathBuf,
    /// Where git keeps this worktree's index.
    admin_dir: PathBuf,
    index: PathBuf,
    /// Never looked at: a path, or everything below it.
    excluded: Vec<PathBuf>,
    /// Filter drivers that somebody configured.
    drivers: BTreeSet<String>,
    /// Changed, but not looked into.
    opaque: BTreeSet<PathBuf>,
    place: Place,
    last: Option<WorktreeSnapshot>,
}

/// Where the work stands and where it began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Place {
    head: Option<String>,
    /// The commit it shares with the branch everything is merged into. Nothing: it shares none.
    base: Option<String>,
}

/// One moment of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeSnapshot {
    /// A commit on top of HEAD that only [`ScratchRepo`] knows.
    pub commit: String,
    pub tree: String,
    pub head: Option<String>,
    /// Nothing is uncommitted.
    pub clean: bool,
    /// Every file that differs from where the branch began, committed or not, new ones by their own path. Sorted.
    pub changed: Vec<PathBuf>,
}

impl WorktreeSnapshotter {
    /// `id` tells the worktrees of one scratch apart.
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
            scratch,
            git,
            root,
            admin_dir,
            index,
            excluded,
            drivers: BTreeSet::new(),
            opaque: BTreeSet::new(),
            place: Place::default(),
            last: None,
        })
    }

    /// The worktree's real path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn admin_dir(&self) -> &Path {
        &self.admin_dir
    }

    /// Looks at everything. Needed at first, when HEAD moved, when ignore rules changed, and when changes may have
    /// been missed. `bases` are the refs the work will be merged into.
    pub fn take_whole(&mut self, bases: &[String]) -> Result<WorktreeSnapshot, ScratchError> {
        let place = self.find_place(bases)?;
        if place.head != self.place.head {
            self.opaque.clear();
        }
        self.place = place;
        self.drivers = self.find_drivers()?;
        copy_with_time(&self.admin_dir.join("index"), &self.index)?;
        // Says with its exit code that something changed, which is what the next question is about.
        let refresh = self.plumbing(["update-index", "-q", "--refresh"]);
        let output = refresh.capture().map_err(GitError::from)?;
        if !matches!(output.exit, Exit::Code(0 | 1)) {
            return Err(failed(&refresh, &output).into());
        }
        let listing = run(&self.plumbing(["ls-files", "-t", "-z", "-m", "-d", "-o", "--exclude-standard"]))?;
        let candidates: BTreeSet<PathBuf> = listing.split(|byte| *byte == 0).filter_map(candidate).collect();
        self.apply(&candidates)?;
        self.finish()
    }

    /// Whether HEAD, or where the work began, is another commit than when everything was looked at.
    pub fn has_moved(&self, bases: &[String]) -> Result<bool, ScratchError> {
        Ok(self.find_place(bases)? != self.place)
    }

    /// Looks at these paths, relative to the worktree, none of them ignored.
    pub fn take_paths(&mut self, paths: &BTreeSet<PathBuf>) -> Result<WorktreeSnapshot, ScratchError> {
        // Only a look at everything tells a submodule from a repository that happens to be here.
        let is_repository = |path: &PathBuf| self.root.join(path).join(".git").symlink_metadata().is_ok();
        self.apply(&paths.iter().filter(|path| !is_repository(path)).cloned().collect())?;
        self.finish()
    }

    fn find_place(&self, bases: &[String]) -> Result<Place, ScratchError> {
        let Some(head) = self.git.find_object("HEAD", "commit")? else { return Ok(Place::default()) };
        let known = bases.iter().filter_map(|base| self.git.find_object(base, "commit").transpose());
        let known: Vec<String> = known.collect::<Result<_, _>>()?;
        let base = if known.is_empty() {
            Some(head.clone())
        } else {
            let args = ["merge-base".to_owned(), head.clone()].into_iter().chain(known);
            self.git.find(args)?
        };
        Ok(Place { head: Some(head), base })
    }

    /// Global ones count as well: git-lfs usually is one.
    fn find_drivers(&self) -> Result<BTreeSet<String>, GitError> {
        let args = ["config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];
        let names = self.git.find(args)?.unwrap_or_default();
        let name = |key: &str| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned());
        Ok(names.split('\0').filter_map(name).collect())
    }

    fn apply(&mut self, paths: &BTreeSet<PathBuf>) -> Result<(), ScratchError> {
        let mut sorted = self.sort(paths);
        if !self.drivers.is_empty() && !sorted.stored.is_empty() {
            for filtered in self.filtered(&sorted.stored)? {
                sorted.stored.remove(&filtered);
                sorted.opaque.insert(filtered);
            }
        }
        self.opaque.retain(|path| !paths.contains(path));
        self.opaque.extend(sorted.opaque);
        self.scratch.count_written(sorted.bytes);
        let steps = [("--force-remove", &sorted.gone), ("--add", &sorted.stored)];
        for (how, paths) in steps.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            let args = ["update-index", how, "--remove", "--replace", "-z", "--stdin"];
            run(&self.plumbing(args).input(nul_separated(paths)))?;
        }
        Ok(())
    }

    fn sort(&self, paths: &BTreeSet<PathBuf>) -> Sorted {
        let mut sorted = Sorted::default();
        let mut parents = BTreeMap::new();
        for path in paths.iter().filter(|path| !is_excluded(path, &self.excluded)) {
            let parent = path.parent().unwrap_or(Path::new(""));
            let in_place = *parents.entry(parent).or_insert_with(|| {
                let parent = self.root.join(parent);
                // Below a link that took the place of a directory, nothing belongs to this worktree.
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
                // A submodule that is on another commit.
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

    /// Those of the paths that a filter would change.
    fn filtered(&self, paths: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>, GitError> {
        let command = self.plumbing(["check-attr", "-z", "--stdin", "filter"]).input(nul_separated(paths));
        let answer = run(&command)?;
        let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
        let is_driver =
            |value: &[u8]| std::str::from_utf8(value).is_ok_and(|name| self.drivers.contains(name));
        Ok(fields
            .chunks_exact(3)
            .filter(|answer| is_driver(answer[2]))
            .map(|answer| path(answer[0]))
            .collect())
    }

    fn finish(&mut self) -> Result<WorktreeSnapshot, ScratchError> {
        let tree = text(&run(&self.plumbing(["write-tree", "--missing-ok"]))?);
        let known = self.last.as_ref().filter(|last| last.tree == tree && last.head == self.place.head);
        // Two questions that do not wait for each other.
        let (commit, changed) = thread::scope(|scope| {
            let changed = scope.spawn(|| self.changed(&tree));
            let commit = known.map_or_else(|| self.commit(&tree), |last| Ok(last.commit.clone()));
            (commit, changed.join())
        });
        let (commit, mut changed) = (commit?, changed.unwrap_or_else(|_| self.changed(&tree))?);
        changed.extend(self.opaque.iter().cloned());
        let clean = self.opaque.is_empty() && self.is_committed(&tree)?;
        let head = self.place.head.clone();
        let taken = WorktreeSnapshot { commit, tree, head, clean, changed: changed.into_iter().collect() };
        self.last = Some(taken.clone());
        Ok(taken)
    }

    /// Whether HEAD has this very tree. Asked of git once for every tree and every commit.
    fn is_committed(&self, tree: &str) -> Result<bool, GitError> {
        let Some(head) = &self.place.head else { return Ok(false) };
        if let Some(last) = self.last.as_ref().filter(|last| last.head.as_ref() == Some(head)) {
            if last.tree == tree {
                return Ok(last.clean);
            }
            if last.clean {
                return Ok(false);
            }
        }
        let of_head = format!("{head}^{{tree}}");
        Ok(text(&run(&self.scratch.command(["rev-parse", "--verify", "--quiet", of_head.as_str()]))?) == tree)
    }

    fn commit(&self, tree: &str) -> Result<String, GitError> {
        let mut args = vec!["commit-tree", "-m", "work in progress"];
        args.extend(self.place.head.iter().flat_map(|head| ["-p", head.as_str()]));
        args.push(tree);
        // The same work is the same commit, whoever looks and whenever.
        let mut command = self.scratch.command(args);
        for who in ["AUTHOR", "COMMITTER"] {
            command = command
                .env(format!("GIT_{who}_NAME"), "git-paw")
                .env(format!("GIT_{who}_EMAIL"), "git-paw@localhost")
                .env(format!("GIT_{who}_DATE"), "@0 +0000");
        }
        Ok(text(&run(&command)?))
    }

    fn changed(&self, tree: &str) -> Result<BTreeSet<PathBuf>, GitError> {
        let base = self.place.base.as_deref().unwrap_or(self.scratch.empty_tree());
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, tree];
        let listing = run(&self.scratch.command(args))?;
        let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path);
        Ok(names.filter(|path| !is_excluded(path, &self.excluded)).collect())
    }

    fn plumbing<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut off = Vec::new();
        for driver in &self.drivers {
            for setting in ["clean=", "process=", "required=false"] {
                off.extend(["-c".to_owned(), format!("filter.{driver}.{setting}")]);
            }
        }
        let args = off.into_iter().chain(args.into_iter().map(str::to_owned));
        self.scratch.storing(self.git.plumbing(Some(&self.index), args))
    }
}

#[derive(Default)]
struct Sorted {
    stored: BTreeSet<PathBuf>,
    gone: BTreeSet<PathBuf>,
    opaque: BTreeSet<PathBuf>,
    bytes: u64,
}

/// Whether a path is one of these, or below one.
pub fn is_excluded(path: &Path, excluded: &[PathBuf]) -> bool {
    excluded.iter().any(|excluded| path.starts_with(excluded))
}

/// A tag, a space and a path. A repository inside the worktree ends with a slash, and is nobody's change.
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
            // A worktree without a checkout has none.
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
    fn a_path_is_excluded_with_everything_below_it_and_nothing_beside_it() {
        let excluded = [PathBuf::from(".git-paw"), PathBuf::from("AGENTS.md")];
        assert!(is_excluded(Path::new(".git-paw/logs/x"), &excluded));
        assert!(is_excluded(Path::new("AGENTS.md"), &excluded));
        assert!(!is_excluded(Path::new(".git-pawn"), &excluded));
        assert!(!is_excluded(Path::new("docs/AGENTS.md"), &excluded));
    }

    #[test]
    fn a_nested_repository_is_no_candidate() {
        assert_eq!(candidate(b"? nested/"), None);
        assert_eq!(candidate(b"C a b"), Some(PathBuf::from("a b")));
        assert_eq!(candidate(b""), None);
    }
}
