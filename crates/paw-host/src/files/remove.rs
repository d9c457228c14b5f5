//! Removes files and directories of our own.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::FileError;

/// Removes a file, or a directory with everything in it, without following links. Does nothing if it does not exist.
pub fn remove_all(path: &Path) -> Result<(), FileError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::when("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Programs leave directories without write permission.
fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock_dirs(path);
            fs::remove_dir_all(path)
        }
        outcome => outcome,
    }
}

/// Makes a directory and every directory below it writable.
pub fn unlock_dirs(dir: &Path) {
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o755));
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        unlock_dirs(&entry.path());
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "half a file is no harm in a test")]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_directory_is_removed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, other) = (dir.path().join("tree"), dir.path().join("other"));
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&other, tree.join("a/link")).unwrap();
        fs::set_permissions(tree.join("a"), fs::Permissions::from_mode(0o555)).unwrap();
        remove_all(&tree).unwrap();
        remove_all(&tree).unwrap();
        assert!(!tree.exists() && other.join("file").exists());
    }
}
