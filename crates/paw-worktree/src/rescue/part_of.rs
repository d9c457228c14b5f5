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
    let oids: Option<Vec<String>> =
        found.iter().map(|path| expected.get(path.as_path()).map(|oid| (*oid).to_owned())).collect();
    let Some(oids) = oids else { return Ok(false) };
    let (mut at, sizes) = (0, repo.git().object_sizes(&oids)?);
    while at < oids.len() {
        let next = at + count_within(&sizes[at..]);
        let blobs = repo.git().read_objects(&oids[at..next])?;
        for (path, blob) in found[at..next].iter().zip(blobs) {
            if !blob.starts_with(&content(&dir.join(path))?) {
                return Ok(false);
            }
        }
        at = next;
    }
    Ok(true)
}

/// How many objects of these sizes are read at once: a process for each would take minutes, and all may not fit into memory.
fn count_within(sizes: &[u64]) -> usize {
    const MOST_BYTES: u64 = 16 << 20;
    let mut total = 0_u64;
    let fits = |size: &&u64| {
        total = total.saturating_add(**size);
        total <= MOST_BYTES
    };
    sizes.iter().take_while(fits).count().max(1)
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

#[cfg(test)]
mod tests {
    use super::count_within;

    #[test]
    fn small_objects_are_read_together_and_a_large_one_alone() {
        assert_eq!(count_within(&vec![1; 5000]), 5000);
        assert_eq!(count_within(&[10 << 20, 5 << 20, 5 << 20]), 2);
        assert_eq!(count_within(&[u64::MAX, 1]), 1);
    }
}
