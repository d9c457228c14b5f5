//! Copies files and directories, sharing their blocks where the file system can.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::num::NonZero;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::FileError;

/// More threads would wait for the same disk.
const MAX_THREADS: usize = 8;
/// Larger trees are not copied, whatever their size in bytes.
const MOST_ENTRIES: usize = 400_000;

/// How a file was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMethod {
    /// Both files share their blocks until one of them changes.
    Reflinked,
    Copied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedFile {
    pub bytes: u64,
    pub method: CopyMethod,
}

/// Copies files, each completely or not at all, and never over an existing file. Remembers whether the file systems support
/// reflinks, so that an unsupported call is tried only once.
#[derive(Debug)]
pub struct FileCopier {
    can_reflink: AtomicBool,
}

impl Default for FileCopier {
    fn default() -> Self {
        Self { can_reflink: AtomicBool::new(true) }
    }
}

impl FileCopier {
    pub fn copy_link(from: &Path, to: &Path) -> io::Result<CopiedFile> {
        symlink(fs::read_link(from)?, to)?;
        Ok(CopiedFile { bytes: 0, method: CopyMethod::Copied })
    }

    /// Copies a regular file with its permissions and modification time.
    pub fn copy_file(&self, from: &Path, to: &Path) -> io::Result<CopiedFile> {
        // The file may have been replaced by a symlink or a pipe: do not follow or block.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
        let metadata = source.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        #[cfg(target_vendor = "apple")]
        if self.can_reflink.load(Ordering::Relaxed) {
            // On macOS, a reflink creates the target, with its mode and times.
            match rustix::fs::fclonefileat(&source, rustix::fs::CWD, to, rustix::fs::CloneFlags::empty()) {
                Ok(()) => return Ok(CopiedFile { bytes: metadata.len(), method: CopyMethod::Reflinked }),
                Err(Errno::EXIST) => return Err(Errno::EXIST.into()),
                Err(_) => {}
            }
        }
        let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        let finish = || {
            let method = self.fill(&source, &target)?;
            target.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o777))?;
            if let Ok(modified) = metadata.modified() {
                target.set_times(FileTimes::new().set_modified(modified))?;
            }
            Ok(CopiedFile { bytes: metadata.len(), method })
        };
        finish().inspect_err(|_| {
            // We created it, and it is incomplete.
            let _ = fs::remove_file(to);
        })
    }

    fn fill(&self, mut source: &File, mut target: &File) -> io::Result<CopyMethod> {
        if self.can_reflink.load(Ordering::Relaxed) {
            match reflink(source, target) {
                Ok(()) => return Ok(CopyMethod::Reflinked),
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::XDEV | Errno::NOTTY) => {
                    self.can_reflink.store(false, Ordering::Relaxed);
                }
                // Only this file cannot be reflinked.
                Err(_) => {}
            }
        }
        io::copy(&mut source, &mut target)?;
        Ok(CopyMethod::Copied)
    }
}

#[cfg(target_os = "linux")]
fn reflink(source: &File, target: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(target, source)
}

/// Other systems cannot reflink into an existing file.
#[cfg(not(target_os = "linux"))]
fn reflink(_source: &File, _target: &File) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// The content of a directory.
#[derive(Debug, Default)]
struct Listing {
    /// Outermost first.
    dirs: Vec<PathBuf>,
    links: Vec<PathBuf>,
    files: Vec<PathBuf>,
    bytes: u64,
}

impl Listing {
    /// Lists everything below `root` except the entry `left_out` of it. `None` if it is too much.
    fn read(root: &Path, left_out: Option<&str>) -> io::Result<Option<Self>> {
        let mut listing = Self::default();
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(root.join(&dir))? {
                let entry = entry?;
                if dir.as_os_str().is_empty() && left_out.is_some_and(|name| entry.file_name() == name) {
                    continue;
                }
                let (path, kind) = (dir.join(entry.file_name()), entry.file_type()?);
                if kind.is_dir() {
                    pending.push(path.clone());
                    listing.dirs.push(path);
                } else if kind.is_symlink() {
                    listing.links.push(path);
                } else if kind.is_file() {
                    listing.bytes += entry.metadata()?.len();
                    listing.files.push(path);
                }
            }
            if listing.dirs.len() + listing.links.len() + listing.files.len() > MOST_ENTRIES {
                return Ok(None);
            }
        }
        Ok(Some(listing))
    }
}

/// Copies the directory `from` to the new directory `to`, without sockets, pipes and its entry `left_out`. Where the file
/// system cannot share blocks, more than `limit` bytes are not copied. Returns whether it was copied; if not, nothing is
/// left at `to`.
pub fn copy_tree(from: &Path, to: &Path, left_out: Option<&str>, limit: u64) -> Result<bool, FileError> {
    let listing = Listing::read(from, left_out).map_err(FileError::when("read", from))?;
    let Some(listing) = listing else { return Ok(false) };
    let copied = copy_listed(&listing, from, to, limit);
    if !matches!(copied, Ok(true)) {
        let _ = fs::remove_dir_all(to);
    }
    copied.map_err(FileError::when("copy", from))
}

fn copy_listed(listing: &Listing, from: &Path, to: &Path, limit: u64) -> io::Result<bool> {
    fs::create_dir_all(to)?;
    for dir in &listing.dirs {
        fs::create_dir(to.join(dir))?;
    }
    let copier = FileCopier::default();
    // The first file shows whether blocks can be shared.
    if let Some(first) = listing.files.first() {
        let method = copier.copy_file(&from.join(first), &to.join(first))?.method;
        if method == CopyMethod::Copied && listing.bytes > limit {
            return Ok(false);
        }
    }
    copy_files(listing, &copier, from, to)?;
    for link in &listing.links {
        FileCopier::copy_link(&from.join(link), &to.join(link))?;
    }
    // Innermost first, because a directory may be read-only.
    for dir in listing.dirs.iter().rev() {
        fs::set_permissions(to.join(dir), fs::metadata(from.join(dir))?.permissions())?;
    }
    Ok(true)
}

/// In parallel, because most files are small and most of the time is spent waiting.
fn copy_files(listing: &Listing, copier: &FileCopier, from: &Path, to: &Path) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(2, NonZero::get).clamp(2, MAX_THREADS);
    let (next, failure) = (AtomicUsize::new(1), Mutex::new(Ok(())));
    thread::scope(|scope| {
        for _ in 0..threads.min(listing.files.len()) {
            scope.spawn(|| {
                while let Some(file) = listing.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = copier.copy_file(&from.join(file), &to.join(file)) {
                        next.store(listing.files.len(), Ordering::Relaxed);
                        *failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Err(error);
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "half a file is no harm in a test")]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_copied_with_links_modes_and_times() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::create_dir_all(from.join(".git")).unwrap();
        for n in 0..40 {
            fs::write(from.join(format!("a/b/{n}")), n.to_string()).unwrap();
        }
        fs::write(from.join(".git/x"), "x").unwrap();
        symlink("a/b/7", from.join("link")).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        File::options().write(true).open(from.join("a/b/7")).unwrap().set_modified(old).unwrap();
        fs::set_permissions(from.join("a"), Permissions::from_mode(0o555)).unwrap();
        assert!(copy_tree(&from, &to, Some(".git"), 1 << 20).unwrap());
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "7");
        assert_eq!(fs::metadata(to.join("a/b/7")).unwrap().modified().unwrap(), old);
        assert_eq!(fs::metadata(to.join("a")).unwrap().permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::read_dir(to.join("a/b")).unwrap().count(), 40);
        assert!(!to.join(".git").exists());
        for tree in [&from, &to] {
            fs::set_permissions(tree.join("a"), Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn a_tree_above_the_limit_is_copied_only_where_blocks_can_be_shared() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("large"), vec![b'x'; 1000]).unwrap();
        let shared = FileCopier::default().copy_file(&from.join("large"), &dir.path().join("probe")).unwrap();
        let copied = copy_tree(&from, &to, None, 999).unwrap();
        assert_eq!(copied, shared.method == CopyMethod::Reflinked);
        assert_eq!(to.exists(), copied);
    }
}
