//! The way to a log, before anything is written to it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use paw_core::Receipt;
use paw_host::files::{self, FileError};

/// Makes the directories of a session's logs. A log that a link would lead elsewhere is not kept, because the repository could
/// have laid the link. Returns what the user should know.
pub fn prepare_paths<'a>(
    receipt: &Receipt,
    logs: impl IntoIterator<Item = &'a mut Option<PathBuf>>,
) -> Result<Vec<String>, FileError> {
    let Some(dir) = &receipt.log_dir else { return Ok(Vec::new()) };
    // A directory elsewhere was the user's own wish, and so are the links on the way to it.
    let root = if dir.starts_with(&receipt.repo_path) { &receipt.repo_path } else { dir };
    let mut notes = BTreeSet::new();
    for log in logs {
        let Some(path) = log else { continue };
        match files::require_no_link(root, path) {
            Ok(()) => path.parent().map_or(Ok(()), files::create_dir)?,
            Err(link) => {
                notes.insert(format!(
                    "what a pane prints is not logged: {link} (remove it, or set log_dir in your own configuration)"
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
    use std::os::unix::fs::symlink;
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
    fn a_log_that_is_a_link_is_not_kept_and_the_others_are() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("logs");
        fs::create_dir_all(dir.join("paw-app")).unwrap();
        symlink(place.path().join("target"), dir.join("paw-app/a.log")).unwrap();
        let mut logs = ["a.log", "b.log"].map(|name| Some(dir.join("paw-app").join(name)));
        let notes = prepare_paths(&session(place.path(), &dir), &mut logs).unwrap();
        assert_eq!(logs, [None, Some(dir.join("paw-app/b.log"))]);
        assert!(notes.len() == 1 && notes[0].contains("a.log: it is a symbolic link"), "{notes:?}");
    }

    #[test]
    fn a_link_on_the_way_is_said_once_and_nothing_is_made_behind_it() {
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
    fn links_to_a_directory_of_the_users_own_choice_are_followed() {
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
