//! Ignored files of the main checkout that a new worktree needs as well: `.env`, `node_modules`, …
//!
//! Only what git ignores, in the main checkout and in the new worktree, is ever copied: a tracked or a new file is
//! git's business, and a secret must not turn up as a new file on a branch that does not ignore it. Nothing in the
//! worktree is overwritten and nothing outside of it is written. Whatever is left out is named.
//!
//! - `patterns`: which paths are wanted
//! - `gather`: what the main checkout has of them
//! - `transfer`: one file to its new place
//! - `ignored`: asking git

mod gather;
mod ignored;
mod patterns;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use paw_core::text::plural;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::git::GitError;

use gather::{CopyItem, EntryKind, IgnoredRoot};
use patterns::Patterns;
use transfer::{CopyMethod, Transfer};

/// More would wait for the same disk.
const MAX_THREADS: usize = 8;

/// Why nothing was copied, or not everything. One file that cannot be read is no error but a [`SkipReason`].
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("worktree.copy has a pattern that cannot be understood: '{pattern}': {reason}")]
    Pattern { pattern: String, reason: String },
    #[error("cannot find out which files are ignored: {0}")]
    Git(#[from] GitError),
    #[error("no space left for {} in {} ({} copied before it)", path.display(), to.display(), plural(*copied, "file"))]
    DiskFull { path: PathBuf, to: PathBuf, copied: u64 },
}

impl Diagnostic for CopyError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Pattern { .. } => ErrorReport::new(ErrorCode::InvalidArgument, self),
            Self::Git(error) => error.report(),
            Self::DiskFull { .. } => ErrorReport::new(ErrorCode::Internal, self)
                .hint("make room, or shorten worktree.copy in the configuration"),
        }
    }
}

/// Why a file that the patterns select was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// The worktree has something of this name.
    Exists,
    /// A directory is needed where the worktree has a file or a link.
    InTheWay,
    /// On the new worktree's branch it would be a new file, ready to be committed.
    NotIgnoredThere,
    /// A socket, a pipe or a device.
    Special,
    /// A repository or a worktree of its own.
    OtherCheckout,
    /// git-paw's own files.
    Ours,
    /// The system's reason.
    Failed(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exists => "already there",
            Self::InTheWay => "the worktree has no directory there",
            Self::NotIgnoredThere => "not ignored in the new worktree",
            Self::Special => "neither a file nor a directory",
            Self::OtherCheckout => "another git checkout",
            Self::Ours => "git-paw's own",
            Self::Failed(reason) => reason,
        })
    }
}

/// What was copied, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Files and links.
    pub files: u64,
    /// The size of the copied files, whether or not they share their blocks with the originals.
    pub bytes: u64,
    /// How many of the files share their blocks with the originals.
    pub reflinked: u64,
    /// By path, relative to the checkout.
    pub skipped: Vec<(PathBuf, SkipReason)>,
}

/// Copies the ignored files that `patterns` select from the main checkout `from` to the worktree `to`.
///
/// Patterns are written as in `.gitignore`. One without a slash is not looked for inside directories that are
/// ignored as a whole: `.env` means those of the project, not those of its dependencies. `**/.env` means all.
pub fn copy_ignored(patterns: &[String], from: &Path, to: &Path) -> Result<CopyReport, CopyError> {
    let patterns = Patterns::parse(patterns)?;
    if patterns.is_empty() {
        return Ok(CopyReport::default());
    }
    let gathered = gather::gather(&patterns, from, to)?;
    let mut report = CopyReport { skipped: gathered.skipped, ..CopyReport::default() };
    let mut dirs = TargetDirs::new(from, to);
    let outcome = copy_selected(gathered.roots, &mut dirs, &mut report);
    dirs.finish();
    report.skipped.sort_by(|left, right| left.0.cmp(&right.0));
    outcome.map(|()| report)
}

fn copy_selected(
    mut roots: Vec<IgnoredRoot>,
    dirs: &mut TargetDirs<'_>,
    report: &mut CopyReport,
) -> Result<(), CopyError> {
    // A rule may be about directories only, so they have to be there when git is asked.
    roots.retain(|root| match dirs.create(root.dir()) {
        Ok(()) => true,
        Err(reason) => {
            report.skipped.push((root.path.clone(), reason));
            false
        }
    });
    let mut files = Vec::new();
    for item in ignored::select_ignored_in(dirs.to, roots, &mut report.skipped)? {
        match dirs.create(item.dir()) {
            Ok(()) if item.kind == EntryKind::Directory => dirs.keep(item.path),
            Ok(()) => files.push(item),
            Err(reason) => report.skipped.push((item.path, reason)),
        }
    }
    copy_files(&files, dirs.from, dirs.to, report)
}

/// Several at a time, because most files are small and most of the time is waiting.
fn copy_files(files: &[CopyItem], from: &Path, to: &Path, report: &mut CopyReport) -> Result<(), CopyError> {
    let threads = thread::available_parallelism().map_or(2, NonZero::get).clamp(2, MAX_THREADS);
    let (next, transfer) = (AtomicUsize::new(0), Transfer::new());
    let total = Mutex::new((report, None));
    thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                let mut own = CopyReport::default();
                let mut full = None;
                while let Some(item) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match transfer.copy(item, &from.join(&item.path), &to.join(&item.path)) {
                        Ok(done) => own.count(done),
                        Err(error) if is_full(&error) => {
                            // Nobody starts another file.
                            next.store(files.len(), Ordering::Relaxed);
                            full = Some(item.path.clone());
                        }
                        Err(error) => own.skipped.push((item.path.clone(), skip_reason(&error))),
                    }
                }
                let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                total.0.add(own);
                total.1 = total.1.take().or(full);
            });
        }
    });
    let (report, full) = total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match full {
        Some(path) => Err(CopyError::DiskFull { path, to: to.to_path_buf(), copied: report.files }),
        None => Ok(()),
    }
}

impl CopyReport {
    fn count(&mut self, done: transfer::CopiedFile) {
        self.files += 1;
        self.bytes += done.bytes;
        self.reflinked += u64::from(done.method == CopyMethod::Reflinked);
    }

    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.reflinked += other.reflinked;
        self.skipped.extend(other.skipped);
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn skip_reason(error: &io::Error) -> SkipReason {
    match error.kind() {
        io::ErrorKind::AlreadyExists => SkipReason::Exists,
        io::ErrorKind::InvalidInput => SkipReason::Special,
        _ => SkipReason::Failed(error.to_string()),
    }
}

/// The directories of the new worktree: real ones, never links, made when they are needed.
struct TargetDirs<'a> {
    from: &'a Path,
    to: &'a Path,
    known: BTreeMap<PathBuf, Result<(), SkipReason>>,
    made: BTreeSet<PathBuf>,
    kept: BTreeSet<PathBuf>,
}

impl<'a> TargetDirs<'a> {
    fn new(from: &'a Path, to: &'a Path) -> Self {
        Self { from, to, known: BTreeMap::new(), made: BTreeSet::new(), kept: BTreeSet::new() }
    }

    fn create(&mut self, dir: &Path) -> Result<(), SkipReason> {
        let Some(parent) = dir.parent() else { return Ok(()) };
        if let Some(known) = self.known.get(dir) {
            return known.clone();
        }
        let outcome = self.create(parent).and_then(|()| self.create_one(dir));
        self.known.insert(dir.to_path_buf(), outcome.clone());
        outcome
    }

    fn create_one(&mut self, dir: &Path) -> Result<(), SkipReason> {
        let place = self.to.join(dir);
        match fs::create_dir(&place) {
            Ok(()) => {
                self.made.insert(dir.to_path_buf());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_dir = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_dir());
                if is_dir { Ok(()) } else { Err(SkipReason::InTheWay) }
            }
            Err(error) => Err(SkipReason::Failed(error.to_string())),
        }
    }

    /// Says that a directory belongs there even if nothing is put into it.
    fn keep(&mut self, dir: PathBuf) {
        self.kept.insert(dir);
    }

    /// Gives the directories we made the permissions of their originals, innermost first because one may be
    /// read-only, and takes those away that nothing needed.
    fn finish(&self) {
        for dir in self.made.iter().rev() {
            let place = self.to.join(dir);
            if !self.kept.contains(dir) && fs::remove_dir(&place).is_ok() {
                continue;
            }
            if let Ok(metadata) = fs::metadata(self.from.join(dir)) {
                let mode = metadata.permissions().mode() & 0o777;
                // The files are there; a directory that stays more open than its original is no reason to fail.
                let _ = fs::set_permissions(place, Permissions::from_mode(mode));
            }
        }
    }
}
