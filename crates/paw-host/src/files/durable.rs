//! What survives a power cut: file systems, directory entries and deletions that are on the disk.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{FileError, create_dir};

/// Waits until everything that any process has written to the file systems of these paths is on the disk: contents, directory
/// entries and renames. One call covers objects that git wrote long before, which a sync of each new file would miss.
pub fn sync_file_systems(paths: &[&Path]) -> Result<(), FileError> {
    let mut synced = BTreeSet::new();
    for path in paths {
        let failed = |error| FileError::when("sync", path)(error);
        let file = File::open(path).map_err(failed)?;
        if synced.insert(file.metadata().map_err(failed)?.dev()) {
            sync_file_system(&file).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(file: &File) -> io::Result<()> {
    rustix::fs::sync();
    file.sync_all()
}

/// Creates a directory and its parents, each of which survives a power cut.
pub(super) fn create_durable_dir(dir: &Path) -> Result<(), FileError> {
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let made: Vec<&Path> = dir.ancestors().take_while(is_missing).collect();
    create_dir(dir)?;
    made.into_iter().filter_map(Path::parent).try_for_each(sync_entries)
}

/// Deletes a file. A power cut does not bring it back. Returns false if there is none.
pub fn delete_file(path: &Path) -> Result<bool, FileError> {
    match fs::remove_file(path) {
        Ok(()) => path.parent().map_or(Ok(()), sync_entries).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError::when("delete", path)(error)),
    }
}

/// Waits until the entries of a directory are on the disk.
fn sync_entries(dir: &Path) -> Result<(), FileError> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(FileError::when("sync", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncing_a_file_system_fails_for_a_missing_path_and_names_it() {
        let dir = tempfile::tempdir().unwrap();
        sync_file_systems(&[dir.path(), dir.path()]).unwrap();
        let error = sync_file_systems(&[&dir.path().join("no")]).unwrap_err().to_string();
        assert!(error.starts_with("cannot sync") && error.contains("/no"), "{error}");
    }

    #[test]
    fn a_durable_delete_reports_whether_there_was_a_file() {
        let dir = tempfile::tempdir().unwrap();
        create_durable_dir(&dir.path().join("a/b")).unwrap();
        let file = dir.path().join("a/b/file");
        super::super::write_atomic(&file, b"x", super::super::Access::Usual).unwrap();
        assert!(delete_file(&file).unwrap());
        assert!(!delete_file(&file).unwrap());
    }
}
