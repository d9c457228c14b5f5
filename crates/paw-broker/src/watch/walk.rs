//! Walks the directories of a worktree that are not ignored.

use std::fs;
use std::path::{Path, PathBuf};

use super::ignore_rules::IgnoreRules;

/// Visits `start` and everything below it that is not ignored, and returns the files. `enter` is called before a
/// directory is read, so that a watch set there sees files that appear during the walk; it can skip a directory or stop
/// the walk.
pub(super) fn walk<E>(
    root: &Path,
    start: &Path,
    rules: &mut IgnoreRules,
    enter: &mut impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Vec<PathBuf>, E> {
    let mut files = Vec::new();
    let mut left = vec![start.to_path_buf()];
    while let Some(dir) = left.pop() {
        if !enter(&dir)? {
            continue;
        }
        rules.enter(&dir);
        // The directory may have been deleted.
        let Ok(entries) = fs::read_dir(root.join(&dir)) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let path = dir.join(entry.file_name());
            if entry.file_name() == ".git" {
                continue;
            }
            if kind.is_dir() {
                if !rules.ignores_dir(&path) {
                    left.push(path);
                }
            } else if !rules.ignores_file(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// Whether the directory is a submodule, or another worktree inside this one.
pub(super) fn is_repository(root: &Path, dir: &Path) -> bool {
    dir != Path::new("") && root.join(dir).join(".git").symlink_metadata().is_ok()
}
