//! Everything below a directory, links not followed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::RescueError;

/// What was found, relative to the root it was asked for.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Files and symbolic links. Sockets, pipes and devices have no content to keep.
    pub(super) files: Vec<PathBuf>,
    pub(super) directories: Vec<PathBuf>,
}

/// Goes through `root/start`, and leaves out the `skipped` paths (relative to `root`).
pub(super) fn walk(root: &Path, start: &Path, skipped: &HashSet<PathBuf>) -> Result<Walked, RescueError> {
    let mut found = Walked::default();
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
