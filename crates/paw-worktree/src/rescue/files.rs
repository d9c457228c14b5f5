//! Files put where they belong, never through a symbolic link and never over something unannounced.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::RescueError;
use super::manifest::ManifestItem;

/// What one of a rescue's paths is to become.
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

    /// Whether the path holds exactly this already.
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

/// Makes the file or link, in the place of whatever file was there.
pub(super) fn write(root: &Path, path: &Path, content: &Content<'_>) -> Result<(), RescueError> {
    create_parents(root, path)?;
    let target = root.join(path);
    remove_existing(&target)?;
    let made = match content {
        Content::Link { target: to } => symlink(std::ffi::OsStr::from_bytes(to), &target),
        Content::File { bytes, permissions } => write_new(&target, bytes, *permissions),
    };
    made.map_err(RescueError::when("write", &target))
}

/// A new file with these permissions from its first moment, so that a secret is never readable in between.
pub(super) fn write_new(path: &Path, bytes: &[u8], permissions: u32) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(permissions & 0o700 | 0o200).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(permissions))
}

/// The directory, and those above it below `root`. Files and links that stand in their place are taken away.
pub(super) fn create_dir(root: &Path, path: &Path) -> Result<(), RescueError> {
    let mut dir = root.to_path_buf();
    for part in path {
        dir.push(part);
        match fs::symlink_metadata(&dir) {
            Ok(metadata) if metadata.is_dir() => continue,
            Ok(_) => fs::remove_file(&dir).map_err(RescueError::when("replace", &dir))?,
            Err(_) => {}
        }
        fs::create_dir(&dir).map_err(RescueError::when("create", &dir))?;
    }
    Ok(())
}

fn create_parents(root: &Path, path: &Path) -> Result<(), RescueError> {
    path.parent().map_or(Ok(()), |parent| create_dir(root, parent))
}

/// A link or file among the directories above `path`: writing there would go elsewhere or replace it.
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

/// Takes away a file, a link, or a directory with nothing in it.
pub(super) fn remove_existing(path: &Path) -> Result<(), RescueError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        Err(error) => Err(error),
    };
    removed.map_err(RescueError::when("replace", path))
}

/// Takes away a deleted file, and the directories that held nothing else.
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

/// A copy with the same time of change, by which git tells which files it has to look at again.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(modified)
}

/// What was found, relative to the root it was asked for.
#[derive(Debug, Default)]
pub(super) struct WalkedDir {
    /// Files and symbolic links. Sockets, pipes and devices have no content to keep.
    pub(super) files: Vec<PathBuf>,
    pub(super) directories: Vec<PathBuf>,
}

/// Goes through `root/start`, and leaves out the `skipped` paths (relative to `root`).
pub(super) fn walk(root: &Path, start: &Path, skipped: &HashSet<PathBuf>) -> Result<WalkedDir, RescueError> {
    let mut found = WalkedDir::default();
    let mut waiting = vec![start.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        let absolute = root.join(&dir);
        let entries = fs::read_dir(&absolute).map_err(RescueError::when("read", &absolute))?;
        for entry in entries {
            let entry = entry.map_err(RescueError::when("read", &absolute))?;
            let path = dir.join(entry.file_name());
            if skipped.contains(&path) {
                continue;
            }
            let kind = entry.file_type().map_err(RescueError::when("look at", &absolute))?;
            if kind.is_dir() {
                waiting.push(path);
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
