//! Creates the files of logs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use paw_core::Receipt;
use paw_host::files::{self, FileError};

/// Creates the files of a session's logs, which only the user can read. A log whose path contains a link is not written, because the repository could
/// contain that link. Returns warnings.
pub fn prepare_paths<'a>(
    receipt: &Receipt,
    logs: impl IntoIterator<Item = &'a mut Option<PathBuf>>,
) -> Result<Vec<String>, FileError> {
    let Some(dir) = &receipt.log_dir else { return Ok(Vec::new()) };
    // Only the user can configure a directory outside of the repository, so links in its path are trusted.
    let root = if dir.starts_with(&receipt.repo_path) { &receipt.repo_path } else { dir };
    let mut notes = BTreeSet::new();
    for log in logs {
        let Some(path) = log else { continue };
        match files::require_no_link(root, path) {
            Ok(()) => {
                path.parent().map_or(Ok(()), files::create_dir)?;
                // The shell that appends to it would create it for everyone.
                files::open_private_log(path).map_err(FileError::when("open", path))?;
            }
            Err(link) => {
                notes.insert(format!(
                    "pane output is not logged: {link} (remove it, or set log_dir in your own configuration)"
                ));
                *log = None;
            }
        }
    }
    Ok(notes.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use jiff::Timestamp;
    use paw_core::SessionName;

    use super::*;

    fn session(repo: &Path, log_dir: &Path) -> Receipt {
        let name = SessionName::new("paw-app").unwrap();
        let receipt = Receipt::new(name, repo.to_path_buf(), "app", Timestamp::UNIX_EPOCH);
        Receipt { log_dir: Some(log_dir.to_path_buf()), ..receipt }
    }

    #[test]
    fn log_that_is_a_link_is_not_written() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("logs");
        fs::create_dir_all(dir.join("paw-app")).unwrap();
        symlink(place.path().join("target"), dir.join("paw-app/a.log")).unwrap();
        let mut logs = ["a.log", "b.log"].map(|name| Some(dir.join("paw-app").join(name)));
        let notes = prepare_paths(&session(place.path(), &dir), &mut logs).unwrap();
        assert_eq!(logs, [None, Some(dir.join("paw-app/b.log"))]);
        let mode = fs::metadata(dir.join("paw-app/b.log")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only the user can read it");
        assert!(notes.len() == 1 && notes[0].contains("a.log: it is a symbolic link"), "{notes:?}");
    }

    #[test]
    fn link_in_the_log_path_causes_one_warning_and_no_directories() {
        let place = tempfile::tempdir().unwrap();
        let (repo, target) = (place.path().join("repo"), place.path().join("target"));
        fs::create_dir_all(&repo).unwrap();
        fs::create_dir_all(&target).unwrap();
        symlink(&target, repo.join("logs")).unwrap();
        let mut logs = ["a.log", "b.log"].map(|name| Some(repo.join("logs/paw-app").join(name)));
        let notes = prepare_paths(&session(&repo, &repo.join("logs")), &mut logs).unwrap();
        assert_eq!((logs, notes.len()), ([None, None], 1));
        assert!(!target.join("paw-app").exists());
    }

    #[test]
    fn links_to_a_log_dir_outside_of_the_repository_are_followed() {
        let place = tempfile::tempdir().unwrap();
        let (repo, target) = (place.path().join("repo"), place.path().join("target"));
        fs::create_dir_all(&target).unwrap();
        symlink(&target, place.path().join("logs")).unwrap();
        let dir = place.path().join("logs");
        let mut logs = [Some(dir.join("paw-app/a.log"))];
        assert_eq!(prepare_paths(&session(&repo, &dir), &mut logs).unwrap(), [""; 0]);
        assert!(logs[0].is_some() && target.join("paw-app").is_dir());
    }
}
