//! Copying one file: completely or not at all, and never over an existing file.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::gather::{CopyItem, EntryKind};

/// How a file was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyMethod {
    /// Both files share their blocks until one of them changes.
    Reflinked,
    Copied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CopiedFile {
    pub(super) bytes: u64,
    pub(super) method: CopyMethod,
}

/// Remembers whether the file systems support reflinks, so that an unsupported call is tried only once.
#[derive(Debug)]
pub(super) struct Transfer {
    can_reflink: AtomicBool,
}

impl Transfer {
    pub(super) fn new() -> Self {
        Self { can_reflink: AtomicBool::new(true) }
    }

    pub(super) fn copy(&self, item: &CopyItem, from: &Path, to: &Path) -> io::Result<CopiedFile> {
        match item.kind {
            EntryKind::Link => {
                symlink(fs::read_link(from)?, to)?;
                Ok(CopiedFile { bytes: 0, method: CopyMethod::Copied })
            }
            EntryKind::File | EntryKind::Directory => self.copy_file(from, to),
        }
    }

    fn copy_file(&self, from: &Path, to: &Path) -> io::Result<CopiedFile> {
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
