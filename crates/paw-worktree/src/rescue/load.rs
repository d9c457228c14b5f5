//! Loading the stored files of a rescue.

use paw_host::git::{Git, Repo};

use super::RescueError;
use super::list::StoredRescue;
use super::manifest::{self, ManifestItem};

/// Files are read in batches of this size, because a rescue may be larger than memory.
const MAX_BATCH_BYTES: u64 = 32 * 1024 * 1024;

/// The manifest of a rescue. Empty for the tip of a branch, which has only commits.
pub(super) fn load_items(repo: &Repo, stored: &StoredRescue) -> Result<Vec<ManifestItem>, RescueError> {
    let Some(state) = &stored.header.state else { return Ok(Vec::new()) };
    let manifest = repo.git().run(["cat-file", "blob", &format!("{state}:manifest")]);
    let manifest = manifest.map_err(|_| stored.unreadable("its manifest is missing"))?;
    manifest::from_bytes(&manifest).map_err(|problem| stored.unreadable(problem))
}

/// Calls `with` for each item and its content, holding one batch in memory.
pub(super) fn for_each_blob(
    git: &Git,
    items: &[&ManifestItem],
    mut with: impl FnMut(&ManifestItem, &[u8]) -> Result<(), RescueError>,
) -> Result<(), RescueError> {
    let oids: Vec<String> = items.iter().map(|item| item.oid.clone()).collect();
    let sizes = git.object_sizes(&oids)?;
    let mut start = 0;
    while start < items.len() {
        let mut end = start + 1;
        let mut size = sizes[start];
        while end < items.len() && size + sizes[end] <= MAX_BATCH_BYTES {
            size += sizes[end];
            end += 1;
        }
        for (item, bytes) in items[start..end].iter().zip(git.read_objects(&oids[start..end])?) {
            with(item, &bytes)?;
        }
        start = end;
    }
    Ok(())
}
