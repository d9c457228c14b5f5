//! Crash-safe files, locks, and the directories of our files.

mod copy;
mod dirs;
mod durable;
mod link;
mod lock;
mod named_pipe;
mod remove;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub use copy::{CopiedFile, CopyMethod, FileCopier, copy_tree};
pub use dirs::Dirs;
pub use durable::{delete_file, sync_file_systems};
use jiff::Timestamp;
pub use link::require_no_link;
pub use lock::Lock;
pub(crate) use lock::LockInput;
pub use named_pipe::{NamedPipe, PipeContent};
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
pub use remove::{remove_all, unlock_dirs};
use rustix::fs::OFlags;
use serde_json::json;

/// A failed file operation: the action, the path and the cause.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileError {
    /// For `map_err`: adds the action and the path.
    pub fn when(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { action, path, source }
    }
}

impl Diagnostic for FileError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::Internal, self).details(json!({ "path": self.path.to_string_lossy() }))
    }
}

/// The permissions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// As the umask allows; an existing file keeps its permissions.
    Usual,
    /// Only the owner can read it, for example because it holds a token.
    Private,
    /// Like `Usual`, and executable.
    Executable,
}

/// The text of a file; `None` if it does not exist.
pub fn load_text(path: &Path) -> Result<Option<String>, FileError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::when("read", path)(error)),
    }
}

/// Replaces the file at `path` atomically and durably: a crash or a power cut leaves the old or the new content.
///
/// Creates missing directories. Follows a symbolic link, so that a configuration file may be a link.
pub fn write_atomic(path: &Path, bytes: &[u8], access: Access) -> Result<(), FileError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    durable::create_durable_dir(dir)?;
    write_and_rename(&target, dir, bytes, access).map_err(FileError::when("write", path))
}

fn write_and_rename(target: &Path, dir: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let before = fs::metadata(target).ok().map(|metadata| metadata.permissions().mode() & 0o7777);
    // The umask applies to the mode at creation, not to a later chmod.
    let (new, kept) = match access {
        Access::Private => (0o600, None),
        Access::Usual => (0o666, before),
        Access::Executable => (0o777, before.map(|mode| mode | 0o111)),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".git-paw-")
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(new))
        .tempfile_in(dir)?;
    file.write_all(bytes)?;
    if let Some(mode) = kept {
        file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    File::open(dir)?.sync_all()
}

/// Opens a log for appending, and creates it if it is missing. Only the owner can read it, even if it could be read by others
/// before. Fails if it is a symbolic link.
pub fn open_private_log(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true).read(true).mode(0o600);
    let file = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Reserves disk space after the end of a log, so that its last lines can be written while the disk is full. Where the file
/// system cannot do that, nothing is reserved.
pub fn reserve(log: &File, bytes: u64) {
    let end = log.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    let reserved = rustix::fs::fallocate(log, rustix::fs::FallocateFlags::KEEP_SIZE, end, bytes);
    if let Err(error) = reserved {
        tracing::debug!("cannot reserve space for a log: {error}");
    }
}

/// Renames a damaged file, so that a new one can take its place. Returns its new path, which contains the time.
pub fn set_aside(path: &Path, now: Timestamp) -> Result<PathBuf, FileError> {
    let aside = with_suffix(path, &format!(".damaged-{}", now.strftime("%Y%m%dT%H%M%S%.3fZ")));
    fs::rename(path, &aside).map_err(FileError::when("set aside", path))?;
    for suffix in ["-wal", "-shm"] {
        // The files of a SQLite database belong together.
        let _ = fs::rename(with_suffix(path, suffix), with_suffix(&aside, suffix));
    }
    Ok(aside)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Creates a directory and its parents.
pub fn create_dir(dir: &Path) -> Result<(), FileError> {
    fs::create_dir_all(dir).map_err(FileError::when("create", dir))
}

/// Creates a directory that only the owner can enter.
pub fn create_private_dir(dir: &Path) -> Result<(), FileError> {
    create_dir(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(FileError::when("protect", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn reserved_space_is_allocated_and_does_not_show_in_the_length() {
        let dir = tempfile::tempdir().unwrap();
        let log = open_private_log(&dir.path().join("log")).unwrap();
        reserve(&log, 64 << 10);
        let metadata = log.metadata().unwrap();
        assert_eq!(metadata.len(), 0);
        let reserved = std::os::unix::fs::MetadataExt::blocks(&metadata) * 512;
        assert!(reserved == 0 || reserved >= 64 << 10, "{reserved} bytes");
    }

    #[test]
    fn write_atomic_creates_directories_and_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        write_atomic(&path, b"one", Access::Usual).unwrap();
        write_atomic(&path, b"two", Access::Usual).unwrap();
        assert_eq!(load_text(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_private_write_restricts_an_existing_readable_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        write_atomic(&path, b"x", Access::Usual).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write_atomic(&path, b"y", Access::Private).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn write_atomic_keeps_the_permissions_of_an_existing_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        write_atomic(&path, b"x", Access::Usual).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_atomic(&path, b"y", Access::Usual).unwrap();
        assert_eq!(mode(&path), 0o640);
        write_atomic(&path, b"z", Access::Executable).unwrap();
        assert_eq!(mode(&path), 0o751);
    }

    #[test]
    fn write_atomic_follows_a_symbolic_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        write_atomic(&real, b"x", Access::Usual).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomic(&link, b"y", Access::Usual).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(load_text(&real).unwrap().as_deref(), Some("y"));
    }

    #[test]
    fn a_private_log_is_restricted_kept_and_never_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (log, link) = (dir.path().join("log"), dir.path().join("link"));
        write_atomic(&log, b"old\n", Access::Usual).unwrap();
        fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
        open_private_log(&log).unwrap().write_all(b"new\n").unwrap();
        assert_eq!((mode(&log), load_text(&log).unwrap().as_deref()), (0o600, Some("old\nnew\n")));
        open_private_log(&dir.path().join("fresh")).unwrap();
        assert_eq!(mode(&dir.path().join("fresh")), 0o600);
        std::os::unix::fs::symlink(&log, &link).unwrap();
        assert!(open_private_log(&link).is_err());
    }

    #[test]
    fn a_write_error_names_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        write_atomic(&file, b"x", Access::Usual).unwrap();
        let error = write_atomic(&file.join("below"), b"x", Access::Usual).unwrap_err();
        assert!(error.to_string().contains(&file.display().to_string()), "{error}");
        assert_eq!(load_text(&file).unwrap().as_deref(), Some("x"));
    }

    #[test]
    fn load_text_returns_none_for_a_missing_file_and_an_error_for_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load_text(&dir.path().join("no")).unwrap(), None);
        assert!(load_text(dir.path()).is_err());
    }
}
