//! Protection against symbolic links that a repository contains where git paw writes.

use std::fs;
use std::io;
use std::path::Path;

use super::FileError;

/// Fails if `file` or a directory between `root` and `file` is a symbolic link. Directories above `root` are not checked.
/// If `file` is not below `root`, every parent is checked.
pub fn require_no_link(root: &Path, file: &Path) -> Result<(), FileError> {
    let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match file.ancestors().take_while(|path| *path != root).find(is_link) {
        None => Ok(()),
        Some(link) => Err(FileError::when("write", link)(io::Error::other("it is a symbolic link"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::files::create_dir;

    #[test]
    fn require_no_link_rejects_a_linked_file_even_a_dangling_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        symlink(dir.path().join("elsewhere"), &file).unwrap();
        let error = require_no_link(dir.path(), &file).unwrap_err();
        assert!(error.to_string().contains("log: it is a symbolic link"), "{error}");
    }

    #[test]
    fn require_no_link_rejects_a_linked_parent_directory() {
        let dir = tempfile::tempdir().unwrap();
        create_dir(&dir.path().join("real/below")).unwrap();
        symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
        assert!(require_no_link(dir.path(), &dir.path().join("link/below/file")).is_err());
        assert!(require_no_link(dir.path(), &dir.path().join("real/below/file")).is_ok());
    }

    #[test]
    fn require_no_link_ignores_links_above_the_root_and_missing_directories() {
        let dir = tempfile::tempdir().unwrap();
        create_dir(&dir.path().join("real/repo")).unwrap();
        symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
        let repo = dir.path().join("link/repo");
        assert!(require_no_link(&repo, &repo.join("not/yet/made")).is_ok());
    }
}
