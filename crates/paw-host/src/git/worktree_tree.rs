//! Trees of what a worktree contains: the tree a commit would have, and the files that git ignores.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Git, GitError, path, run, text};

/// Ignored files and directories of a worktree. A directory that is ignored as a whole is one entry.
pub fn list_ignored(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    Ok(parse_ignored(&git.plumb(None, LIST_IGNORED)?))
}

pub(super) const LIST_IGNORED: [&str; 6] =
    ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];

pub(super) fn parse_ignored(listing: &[u8]) -> Vec<PathBuf> {
    let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| path(name.strip_suffix(b"/").unwrap_or(name))).collect()
}

impl Git {
    /// Writes the tree that a commit of exactly these paths on top of `base` would have. Uses the index file `index`;
    /// the worktree's own index is neither read nor changed.
    pub fn write_worktree_tree(
        &self,
        index: &Path,
        base: &str,
        paths: &[PathBuf],
    ) -> Result<String, GitError> {
        drop(fs::remove_file(index));
        self.plumb(Some(index), ["read-tree", base])?;
        if !paths.is_empty() {
            let list: Vec<u8> =
                paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            run(&self.plumbing(Some(index), args).input(list))?;
        }
        self.write_index_tree(index)
    }

    /// The tree of a commit or tree.
    pub fn tree_of(&self, name: &str) -> Result<String, GitError> {
        Ok(text(&self.plumb(None, ["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")])?))
    }
}
