//! The size of a checkout: from its tree, or faster, from the index of a checkout of the same or another tree.

use std::fs;
use std::path::Path;

use super::{Git, GitError, run, text};

impl Git {
    /// The total size of all files in a tree. Reads the header of every blob, which is slow in a large repository.
    pub fn tree_bytes(&self, tree: &str) -> Result<u64, GitError> {
        let command = self.command(["ls-tree", "-r", "-l", "-z", tree]).env("GIT_NO_LAZY_FETCH", "1");
        Ok(listed_bytes(&run(&command)?))
    }

    /// The total size of the files that `to` has and `from` has not, or has with other content.
    pub fn added_bytes(&self, from: &str, to: &str) -> Result<u64, GitError> {
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--diff-filter=d", from, to];
        let listing = self.plumb(None, args)?;
        let blobs: Vec<&str> = listing.split(|byte| *byte == 0).filter_map(added_blob).collect();
        let command = self.plumbing(None, ["cat-file", "--batch-check=%(objectsize)"]);
        let command = command.input(blobs.join("\n") + "\n").env("GIT_NO_LAZY_FETCH", "1");
        // An object that a partial clone has not fetched has no size yet.
        Ok(text(&run(&command)?).lines().filter_map(|size| size.parse::<u64>().ok()).sum())
    }
}

/// `:mode mode oid oid status`, in a field of its own before the path. A submodule has no files of its own.
fn added_blob(field: &[u8]) -> Option<&str> {
    let words: Vec<&str> = std::str::from_utf8(field.strip_prefix(b":")?).ok()?.split(' ').collect();
    let [_, mode, _, oid, _] = words[..] else { return None };
    (mode != "160000").then_some(oid)
}

/// The files of a checkout, as its index describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedCheckout {
    /// The tree that the index would be written as.
    pub tree: String,
    pub bytes: u64,
}

/// `mode type oid size<TAB>path`; the size of a submodule is `-`.
fn listed_bytes(listing: &[u8]) -> u64 {
    let size = |entry: &[u8]| -> Option<u64> {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        std::str::from_utf8(&entry[..tab]).ok()?.split_whitespace().nth(3)?.parse().ok()
    };
    listing.split(|byte| *byte == 0).filter_map(size).sum()
}

/// Reads an index. `None` if it does not say which tree it is, or not the size of every file: changes are staged, it is split
/// or sparse, or it cannot be parsed.
pub fn find_indexed_checkout(index: &Path) -> Option<IndexedCheckout> {
    let index = fs::read(index).ok()?;
    let Indexed { tree, bytes, complete } = indexed(&index, 20).or_else(|| indexed(&index, 32))?;
    tree.filter(|_| complete).map(|tree| IndexedCheckout { tree, bytes })
}

/// What an index file says.
#[derive(Default)]
struct Indexed {
    tree: Option<String>,
    bytes: u64,
    /// It has every file, with its size.
    complete: bool,
}

/// Parses an index of version 2 to 4. `None` if it cannot be parsed with this object id length.
fn indexed(index: &[u8], oid_len: usize) -> Option<Indexed> {
    const HEADER: usize = 12;
    const SIZE_AT: usize = 36;
    const EXTENDED: u16 = 0x4000;
    const SKIPPED: u8 = 0x40;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut found) = (HEADER, Indexed { complete: true, ..Indexed::default() });
    for _ in 0..number(8)? {
        found.bytes += u64::from(number(at + SIZE_AT)?);
        let flags_at = at + SIZE_AT + 4 + oid_len;
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let mut path_at = flags_at + 2;
        if version >= 3 && flags & EXTENDED != 0 {
            found.complete &= index.get(path_at)? & SKIPPED == 0;
            path_at += 2;
        }
        if version == 4 {
            path_at += index.get(path_at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
        }
        let end = path_at + index.get(path_at..)?.iter().position(|byte| *byte == 0)?;
        // Entries before version 4 are padded with one to eight NULs to a multiple of eight.
        at = if version == 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 };
    }
    let end = index.len().checked_sub(oid_len)?;
    // Extensions follow, each with a name and a length, up to the checksum.
    while at < end {
        let name = index.get(at..at + 4)?;
        if !name.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        let content = at.checked_add(8)?;
        at = content.checked_add(number(at + 4)? as usize)?;
        match name {
            b"link" | b"sdir" => found.complete = false,
            b"TREE" => found.tree = cached_tree(index.get(content..at)?, oid_len),
            _ => {}
        }
    }
    (at == end).then_some(found)
}

/// The id of the root: an empty path, NUL, its number of entries, a space, its number of subtrees, a newline, and the id. The
/// number is negative if entries have changed since.
fn cached_tree(extension: &[u8], oid_len: usize) -> Option<String> {
    let rest = extension.strip_prefix(b"\0")?;
    let line = rest.iter().position(|byte| *byte == b'\n')?;
    if rest.starts_with(b"-") {
        return None;
    }
    let oid = rest.get(line + 1..)?.get(..oid_len)?;
    Some(oid.iter().fold(String::with_capacity(2 * oid_len), |text, byte| text + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn listed_sizes_are_added_up_without_submodules() {
        let listing =
            b"100644 blob aaaa      12\tx\x00160000 commit bbbb       -\tsub\x00100644 blob cccc 30\ta\tb 7\0";
        assert_eq!(listed_bytes(listing), 42);
    }

    proptest! {
        #[test]
        fn parsing_any_index_does_not_panic(version in 2_u8..5, entries in 0_u8..4, rest in proptest::collection::vec(any::<u8>(), 0..300)) {
            let index = [b"DIRC\0\0\0", &[version, 0, 0, 0, entries][..], &rest].concat();
            indexed(&index, 20);
        }
    }
}
