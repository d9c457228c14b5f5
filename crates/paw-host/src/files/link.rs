//! Links that a repository laid where we write.

use std::fs;
use std::io;
use std::path::Path;

use super::FileError;

/// Neither `file` nor a directory on the way to it from `root` may lead elsewhere. What lies above `root` is the user's own
/// affair; of a file that is not below it, every directory is looked at.
pub fn require_no_link(root: &Path, file: &Path) -> Result<(), FileError> {
    let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match file.ancestors().take_while(|path| *path != root).find(is_link) {
        None => Ok(()),
        Some(link) => Err(FileError::when("write", link)(io::Error::other("it is a link"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::files::create_dir;

    #[test]
    fn a_file_that_is_a_link_is_refused_even_where_it_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        symlink(dir.path().join("elsewhere"), &file).unwrap();
        let error = require_no_link(dir.path(), &file).unwrap_err();
        assert!(error.to_string().contains("log: it is a link"), "{error}");
    }

    #[test]
    fn a_directory_on_the_way_that_is_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        create_dir(&dir.path().join("real/below")).unwrap();
        symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
        assert!(require_no_link(dir.path(), &dir.path().join("link/below/file")).is_err());
        assert!(require_no_link(dir.path(), &dir.path().join("real/below/file")).is_ok());
    }

    #[test]
    fn links_above_the_root_and_missing_directories_are_no_matter() {
        let dir = tempfile::tempdir().unwrap();
        create_dir(&dir.path().join("real/repo")).unwrap();
        symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
        let repo = dir.path().join("link/repo");
        assert!(require_no_link(&repo, &repo.join("not/yet/made")).is_ok());
    }
}
