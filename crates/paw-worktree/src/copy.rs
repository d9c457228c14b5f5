//! Copying ignored files of the main checkout, such as `.env` or `node_modules`, into a new worktree.
//!
//! A file is copied only if git ignores it both in the main checkout and in the new worktree: a secret must not appear
//! as an untracked file on a branch that does not ignore it. Nothing in the worktree is overwritten, nothing outside it
//! is written, and the report lists every skipped file.
//!
//! - `patterns`: the configured patterns
//! - `gather`: the files of the main checkout that match
//! - `ignored`: asks git what is ignored

mod gather;
mod ignored;
mod patterns;

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
use paw_host::files::{CopiedFile, CopyMethod, FileCopier};
use paw_host::git::GitError;

use gather::{CopyItem, EntryKind, IgnoredRoot};
use patterns::Patterns;

/// More threads would wait for the same disk.
const MAX_THREADS: usize = 8;

/// Why copying failed. A single unreadable file is not an error, but a [`SkipReason`].
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("invalid pattern '{pattern}' in worktree.copy: {reason}")]
    Pattern { pattern: String, reason: String },
    #[error("cannot list ignored files: {0}")]
    Git(#[from] GitError),
    #[error("no space left for {} in {} ({} copied)", path.display(), to.display(), plural(*copied, "file"))]
    DiskFull { path: PathBuf, to: PathBuf, copied: u64 },
}

impl Diagnostic for CopyError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Pattern { .. } => ErrorReport::new(ErrorCode::InvalidArgument, self),
            Self::Git(error) => error.report(),
            Self::DiskFull { .. } => ErrorReport::new(ErrorCode::Internal, self)
                .hint("free some space, or shorten worktree.copy in the configuration"),
        }
    }
}

/// Why a selected file was not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// The worktree already has this path.
    Exists,
    /// The worktree has a file or a symlink where a directory is needed.
    InTheWay,
    /// In the new worktree it would be an untracked file, ready to be committed.
    NotIgnoredThere,
    /// A socket, a pipe or a device.
    Special,
    /// Another repository or worktree.
    OtherCheckout,
    /// git-paw's own files.
    Ours,
    /// The error of the operating system.
    Failed(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exists => "already exists",
            Self::InTheWay => "the worktree has a file where a directory is needed",
            Self::NotIgnoredThere => "not ignored in the new worktree",
            Self::Special => "not a regular file",
            Self::OtherCheckout => "another git checkout",
            Self::Ours => "belongs to git-paw",
            Self::Failed(reason) => reason,
        })
    }
}

/// What was copied and what was skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Files and symlinks.
    pub files: u64,
    /// The total size of the copied files, reflinked ones included.
    pub bytes: u64,
    /// How many files share their blocks with the originals.
    pub reflinked: u64,
    /// Sorted by path, relative to the checkout.
    pub skipped: Vec<(PathBuf, SkipReason)>,
}

/// Copies the ignored files that `patterns` select from the main checkout `from` to the worktree `to`.
///
/// Patterns follow `.gitignore` syntax. A pattern without a slash does not match inside directories that are ignored as
/// a whole: `.env` matches the project's files, not those of its dependencies. `**/.env` matches all.
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
    // An ignore rule may match directories only, so they must exist before git is asked.
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

/// Copies in parallel, because most files are small and most of the time is spent waiting.
fn copy_files(files: &[CopyItem], from: &Path, to: &Path, report: &mut CopyReport) -> Result<(), CopyError> {
    let threads = thread::available_parallelism().map_or(2, NonZero::get).clamp(2, MAX_THREADS);
    let (next, file_copier) = (AtomicUsize::new(0), FileCopier::default());
    let total = Mutex::new((report, None));
    thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                let mut partial = CopyReport::default();
                let mut full = None;
                while let Some(item) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match copy_one(&file_copier, item, &from.join(&item.path), &to.join(&item.path)) {
                        Ok(copied) => partial.count(copied),
                        Err(error) if is_full(&error) => {
                            // Stop all threads.
                            next.store(files.len(), Ordering::Relaxed);
                            full = Some(item.path.clone());
                        }
                        Err(error) => partial.skipped.push((item.path.clone(), skip_reason(&error))),
                    }
                }
                let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                total.0.add(partial);
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

fn copy_one(copier: &FileCopier, item: &CopyItem, from: &Path, to: &Path) -> io::Result<CopiedFile> {
    match item.kind {
        EntryKind::Link => FileCopier::copy_link(from, to),
        EntryKind::File | EntryKind::Directory => copier.copy_file(from, to),
    }
}

impl CopyReport {
    fn count(&mut self, file: CopiedFile) {
        self.files += 1;
        self.bytes += file.bytes;
        self.reflinked += u64::from(file.method == CopyMethod::Reflinked);
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

/// Creates directories of the new worktree on demand, and never through symlinks.
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
        let path = self.to.join(dir);
        match fs::create_dir(&path) {
            Ok(()) => {
                self.made.insert(dir.to_path_buf());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_dir = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
                if is_dir { Ok(()) } else { Err(SkipReason::InTheWay) }
            }
            Err(error) => Err(SkipReason::Failed(error.to_string())),
        }
    }

    /// Keeps a directory even if it stays empty.
    fn keep(&mut self, dir: PathBuf) {
        self.kept.insert(dir);
    }

    /// Removes created directories that are not needed, and copies the permissions of the others from their originals.
    /// Innermost first, because a parent may be read-only.
    fn finish(&self) {
        for dir in self.made.iter().rev() {
            let path = self.to.join(dir);
            if !self.kept.contains(dir) && fs::remove_dir(&path).is_ok() {
                continue;
            }
            if let Ok(metadata) = fs::metadata(self.from.join(dir)) {
                let mode = metadata.permissions().mode() & 0o777;
                // The files are copied, so wrong permissions on a directory are not worth a failure.
                let _ = fs::set_permissions(path, Permissions::from_mode(mode));
            }
        }
    }
}
