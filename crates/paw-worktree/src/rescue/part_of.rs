//! Whether a directory holds nothing but a part of a rescue: a restore or a removal was killed, and nothing was added since.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::files::{self, Access};
use paw_host::git::{Git, Repo};

use super::RescueError;
use super::files::walk;
use super::list::require_stored;
use super::load::load_items;
use super::restore_files::is_file;
use super::uncommitted::find_ignored;

/// Every file has the content of the rescue or of the index, or the beginning of it. Without a rescue, of the index.
pub(crate) fn is_part_of(
    repo: &Repo,
    id: Option<&str>,
    dir: &Path,
    skipped: Vec<PathBuf>,
) -> Result<bool, RescueError> {
    let items = match id {
        Some(id) => load_items(repo, &require_stored(repo, id)?)?,
        None => Vec::new(),
    };
    let git = Git::at(dir);
    // Before the index is restored, git lists nothing.
    let index = git.index_entries().unwrap_or_default();
    let mut expected: HashMap<&Path, &str> =
        index.iter().map(|entry| (entry.path.as_path(), entry.oid.as_str())).collect();
    expected.extend(
        items.iter().filter(|item| is_file(item)).map(|item| (item.path.as_path(), item.oid.as_str())),
    );
    let skipped: HashSet<PathBuf> = skipped.into_iter().chain([PathBuf::from(".git")]).collect();
    let found = walk(dir, Path::new(""), &skipped)?.files;
    for path in &found {
        let Some(oid) = expected.get(path.as_path()) else { return Ok(false) };
        let blob = repo.git().read_objects(&[(*oid).to_owned()])?.remove(0);
        if !blob.starts_with(&content(&dir.join(path))?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a killed removal left behind, apart from ignored files. The rules that it deleted are written again, so that git
/// knows what they ignore.
pub(crate) fn is_rest_of_removal(repo: &Repo, id: Option<&str>, dir: &Path) -> Result<bool, RescueError> {
    let is_rules = |path: &Path| path.file_name().is_some_and(|name| name == ".gitignore");
    for entry in Git::at(dir).index_entries()?.into_iter().filter(|entry| is_rules(&entry.path)) {
        let file = dir.join(&entry.path);
        if file.symlink_metadata().is_err() && file.parent().is_some_and(Path::is_dir) {
            let rules = repo.git().read_objects(&[entry.oid])?.remove(0);
            files::write_atomic(&file, &rules, Access::Usual)?;
        }
    }
    let ignored = find_ignored(dir)?.into_iter().map(|path| path.components().collect());
    is_part_of(repo, id, dir, ignored.collect())
}

fn content(path: &Path) -> Result<Vec<u8>, RescueError> {
    let read = match fs::read_link(path) {
        Ok(target) => Ok(target.as_os_str().as_bytes().to_vec()),
        Err(_) => fs::read(path),
    };
    read.map_err(RescueError::io("read", path))
}
