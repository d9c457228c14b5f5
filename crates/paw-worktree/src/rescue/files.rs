//! Reading and writing files below a directory, without following symlinks.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::RescueError;
use super::manifest::ManifestItem;

/// The content to write at a path.
pub(super) enum Content<'a> {
    File { bytes: &'a [u8], permissions: u32 },
    Link { target: &'a [u8] },
}

impl<'a> Content<'a> {
    pub(super) fn of(item: &ManifestItem, bytes: &'a [u8]) -> Self {
        if item.is_symlink() {
            Self::Link { target: bytes }
        } else {
            Self::File { bytes, permissions: item.permissions() }
        }
    }

    /// Whether the path already has exactly this content.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else { return false };
        match self {
            Self::Link { target } => fs::read_link(path).is_ok_and(|at| at.as_os_str().as_bytes() == *target),
            Self::File { bytes, permissions } => {
                metadata.is_file()
                    && metadata.permissions().mode() & 0o100 == permissions & 0o100
                    && fs::read(path).is_ok_and(|at| at == *bytes)
            }
        }
    }
}

/// Writes the file or symlink, replacing an existing file.
pub(super) fn write(root: &Path, path: &Path, content: &Content<'_>) -> Result<(), RescueError> {
    create_parents(root, path)?;
    let target = root.join(path);
    remove_existing(&target)?;
    let made = match content {
        Content::Link { target: to } => symlink(std::ffi::OsStr::from_bytes(to), &target),
        Content::File { bytes, permissions } => write_new(&target, bytes, *permissions),
    };
    made.map_err(RescueError::io("write", &target))
}

/// Creates a file with restricted permissions from the start, so that a secret is never readable by others.
pub(super) fn write_new(path: &Path, bytes: &[u8], permissions: u32) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(permissions & 0o700 | 0o200).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(permissions))
}

/// Creates the directory and its parents below `root`. Replaces files and symlinks on the way.
pub(super) fn create_dir(root: &Path, path: &Path) -> Result<(), RescueError> {
    let mut dir = root.to_path_buf();
    for part in path {
        dir.push(part);
        match fs::symlink_metadata(&dir) {
            Ok(metadata) if metadata.is_dir() => continue,
            Ok(_) => fs::remove_file(&dir).map_err(RescueError::io("replace", &dir))?,
            Err(_) => {}
        }
        fs::create_dir(&dir).map_err(RescueError::io("create", &dir))?;
    }
    Ok(())
}

fn create_parents(root: &Path, path: &Path) -> Result<(), RescueError> {
    path.parent().map_or(Ok(()), |parent| create_dir(root, parent))
}

/// A file or symlink among the parents of `path`, which writing would replace or follow.
pub(super) fn find_obstacle(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut above = PathBuf::new();
    for part in path.parent()? {
        above.push(part);
        match fs::symlink_metadata(root.join(&above)) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Some(above),
            Err(_) => return None,
        }
    }
    None
}

/// Removes a file, a symlink, or an empty directory.
pub(super) fn remove_existing(path: &Path) -> Result<(), RescueError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        Err(error) => Err(error),
    };
    removed.map_err(RescueError::io("replace", path))
}

/// Deletes a file, and parent directories that become empty.
pub(super) fn delete(root: &Path, path: &Path) -> Result<(), RescueError> {
    if find_obstacle(root, path).is_some() {
        return Ok(());
    }
    remove_existing(&root.join(path))?;
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Copies a file with its modification time, which git uses to detect changed files.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(modified)
}

/// The files and directories below a directory, relative to the walk's root.
#[derive(Debug, Default)]
pub(super) struct WalkedDir {
    /// Files and symlinks. Sockets, pipes and devices have no content to store.
    pub(super) files: Vec<PathBuf>,
    pub(super) directories: Vec<PathBuf>,
}

/// Walks `root/start` without following symlinks, and leaves out the `skipped` paths (relative to `root`).
pub(super) fn walk(root: &Path, start: &Path, skipped: &HashSet<PathBuf>) -> Result<WalkedDir, RescueError> {
    let mut found = WalkedDir::default();
    let mut pending = vec![start.to_path_buf()];
    while let Some(dir) = pending.pop() {
        let absolute = root.join(&dir);
        let entries = fs::read_dir(&absolute).map_err(RescueError::io("read", &absolute))?;
        for entry in entries {
            let entry = entry.map_err(RescueError::io("read", &absolute))?;
            let path = dir.join(entry.file_name());
            if skipped.contains(&path) {
                continue;
            }
            let kind = entry.file_type().map_err(RescueError::io("look at", &absolute))?;
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                found.files.push(path);
            }
        }
        found.directories.push(dir);
    }
    found.files.sort();
    found.directories.sort();
    Ok(found)
}
