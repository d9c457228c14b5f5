//! The directories of a worktree that are worth watching.

use std::fs;
use std::path::{Path, PathBuf};

use super::ignore_rules::IgnoreRules;

/// Visits `start` and what is below it, leaving out what is ignored. `enter` is called before a directory is read, so
/// that what appears while we read is seen by the watch; it may pass over a directory, or stop the walk.
/// Returns the files that are there.
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
        // It may be gone already; then there is nothing in it.
        let Ok(entries) = fs::read_dir(root.join(&dir)) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let path = dir.join(entry.file_name());
            if entry.file_name() == ".git" {
                continue;
            }
            if kind.is_dir() {
                if !rules.hides_dir(&path) {
                    left.push(path);
                }
            } else if !rules.hides_file(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// A submodule, or somebody's worktree within this one.
pub(super) fn is_repository(root: &Path, dir: &Path) -> bool {
    dir != Path::new("") && root.join(dir).join(".git").symlink_metadata().is_ok()
}
