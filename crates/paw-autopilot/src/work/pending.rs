//! What is about to be committed, written down before it is: a commit that nobody wrote down afterwards is ours only if it
//! is exactly that. Its message alone anybody can copy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError};
use serde::{Deserialize, Serialize};

/// Files as git keeps them: mode, object and path of each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Pending(BTreeSet<String>);

impl Pending {
    /// What the index has of these paths and the last commit has not.
    pub(super) fn of_index(git: &Git, paths: &[PathBuf]) -> Result<Self, GitError> {
        let options = ["--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "HEAD"];
        let listing = git.plumb(None, ["diff-index"].into_iter().chain(options))?;
        Ok(read(&listing, |path| paths.iter().any(|known| known == path)))
    }

    /// What the last commit has and its parent has not.
    pub(super) fn of_last_commit(git: &Git) -> Result<Self, GitError> {
        let options = ["-r", "--raw", "-z", "--no-abbrev", "--no-renames", "HEAD^", "HEAD"];
        let listing = git.plumb(None, ["diff-tree"].into_iter().chain(options))?;
        Ok(read(&listing, |_| true))
    }
}

/// `:oldmode newmode oldoid newoid letter`, then the path.
fn read(listing: &[u8], wanted: impl Fn(&Path) -> bool) -> Pending {
    let mut fields = listing.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut files = BTreeSet::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let mut words = facts.split(' ');
        if let (Some(mode), Some(oid)) = (words.nth(1), words.nth(1))
            && wanted(Path::new(path.as_ref()))
        {
            files.insert(format!("{mode} {oid} {path}"));
        }
    }
    Pending(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_with_spaces_in_its_paths_and_without_what_is_not_asked_for() {
        let listing = b":100644 100755 aa bb M\0a b\0:000000 100644 00 cc A\0c\0:100644 000000 dd 00 D\0d\0";
        let all = read(listing, |_| true);
        let lines = ["000000 00 d", "100644 cc c", "100755 bb a b"];
        assert_eq!(all.0.iter().map(String::as_str).collect::<Vec<_>>(), lines);
        assert_eq!(read(listing, |path| path == Path::new("c")).0.len(), 1);
        assert_eq!(read(b"", |_| true), Pending::default());
    }
}
