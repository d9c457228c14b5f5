//! What has changed in a worktree, from `git status --porcelain=v2 -z`.

use std::path::PathBuf;

use super::{Git, GitError, path};

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEntry {
    pub path: PathBuf,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Tracked and changed: in the index, in the worktree, or both.
    Changed {
        staged: bool,
        unstaged: bool,
    },
    /// Moved or copied here from another path.
    Moved {
        from: PathBuf,
    },
    Unmerged,
    Untracked,
    Ignored,
}

impl Git {
    /// Every changed and untracked file, by its own path: a new directory is never one entry.
    pub fn status(&self) -> Result<Vec<StatusEntry>, GitError> {
        Ok(parse(&self.run(["status", "--porcelain=v2", "-z", "--untracked-files=all"])?))
    }
}

fn parse(listing: &[u8]) -> Vec<StatusEntry> {
    let mut records = listing.split(|byte| *byte == 0);
    let mut entries = Vec::new();
    while let Some(record) = records.next() {
        // The path is the last of a fixed number of fields and may itself hold spaces.
        let (fields, change) = match record.first() {
            Some(b'1') => (9, changed(record)),
            Some(b'2') => (10, Change::Moved { from: records.next().map(path).unwrap_or_default() }),
            Some(b'u') => (11, Change::Unmerged),
            Some(b'?') => (2, Change::Untracked),
            Some(b'!') => (2, Change::Ignored),
            _ => continue,
        };
        if let Some(name) = record.splitn(fields, |byte| *byte == b' ').nth(fields - 1) {
            entries.push(StatusEntry { path: path(name), change });
        }
    }
    entries
}

fn changed(record: &[u8]) -> Change {
    let differs = |at: usize| record.get(at).is_some_and(|letter| *letter != b'.');
    Change::Changed { staged: differs(2), unstaged: differs(3) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_record_is_read_with_spaces_newlines_and_bytes_in_its_path() {
        let listing = b"1 .M N... 100644 100644 100644 aaaa bbbb a b\n c\0\
            1 A. N... 000000 100644 100644 0000 bbbb new\0\
            2 R. N... 100644 100644 100644 aaaa bbbb R100 to here\0from \xff\0\
            u UU N... 100644 100644 100644 100644 a b c both\0\
            ? dir/un tracked\0! target\0";
        let entry = |name: &[u8], change| StatusEntry { path: path(name), change };
        assert_eq!(
            parse(listing),
            [
                entry(b"a b\n c", Change::Changed { staged: false, unstaged: true }),
                entry(b"new", Change::Changed { staged: true, unstaged: false }),
                entry(b"to here", Change::Moved { from: path(b"from \xff") }),
                entry(b"both", Change::Unmerged),
                entry(b"dir/un tracked", Change::Untracked),
                entry(b"target", Change::Ignored),
            ]
        );
    }

    proptest! {
        #[test]
        fn no_listing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
        }
    }
}
