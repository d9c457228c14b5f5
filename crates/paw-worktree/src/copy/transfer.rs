//! One file to its new place: whole or not at all, and never over something that is there.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::gather::{CopyItem, EntryKind};

/// How a file's content got to its new place.
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

/// Remembers whether this pair of file systems can share blocks, so that a refusal costs once and not per file.
#[derive(Debug)]
pub(super) struct Transfer {
    can_share: AtomicBool,
}

impl Transfer {
    pub(super) fn new() -> Self {
        Self { can_share: AtomicBool::new(true) }
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
        // What was a file when we looked may have become a link or a pipe: neither is followed or waited for.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
        let metadata = source.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        #[cfg(target_vendor = "apple")]
        if self.can_share.load(Ordering::Relaxed) {
            // There a file is shared by making it, with its mode and times.
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
            // We made it a moment ago and it is not whole.
            let _ = fs::remove_file(to);
        })
    }

    fn fill(&self, mut source: &File, mut target: &File) -> io::Result<CopyMethod> {
        if self.can_share.load(Ordering::Relaxed) {
            match share(source, target) {
                Ok(()) => return Ok(CopyMethod::Reflinked),
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::XDEV | Errno::NOTTY) => {
                    self.can_share.store(false, Ordering::Relaxed);
                }
                // This one file cannot be shared.
                Err(_) => {}
            }
        }
        io::copy(&mut source, &mut target)?;
        Ok(CopyMethod::Copied)
    }
}

#[cfg(target_os = "linux")]
fn share(source: &File, target: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(target, source)
}

/// Elsewhere a file that exists cannot be made to share another's blocks.
#[cfg(not(target_os = "linux"))]
fn share(_source: &File, _target: &File) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}
