//! Whether a directory holds nothing but a part of a rescue: a restore was killed, and nothing was added since.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, Repo};

use super::RescueError;
use super::files::walk;
use super::list::require_stored;
use super::load::load_items;
use super::restore_files::is_file;

/// Every file has the content of the rescue or of the index, or the beginning of it.
pub(crate) fn is_part_of(repo: &Repo, id: &str, dir: &Path) -> Result<bool, RescueError> {
    let items = load_items(repo, &require_stored(repo, id)?)?;
    let git = Git::at(dir);
    // Before the index is restored, git lists nothing.
    let index = git.index_entries().unwrap_or_default();
    let mut expected: HashMap<&Path, &str> =
        index.iter().map(|entry| (entry.path.as_path(), entry.oid.as_str())).collect();
    expected.extend(
        items.iter().filter(|item| is_file(item)).map(|item| (item.path.as_path(), item.oid.as_str())),
    );
    let found = walk(dir, Path::new(""), &HashSet::from([PathBuf::from(".git")]))?.files;
    for path in &found {
        let Some(oid) = expected.get(path.as_path()) else { return Ok(false) };
        let blob = repo.git().read_objects(&[(*oid).to_owned()])?.remove(0);
        if !blob.starts_with(&content(&dir.join(path))?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn content(path: &Path) -> Result<Vec<u8>, RescueError> {
    let read = match fs::read_link(path) {
        Ok(target) => Ok(target.as_os_str().as_bytes().to_vec()),
        Err(_) => fs::read(path),
    };
    read.map_err(RescueError::io("read", path))
}
