//! The size of a checkout: exact, from its tree, or fast, from the index of another checkout.

use std::fs;
use std::path::Path;

use super::{Git, GitError};

impl Git {
    /// The total size of all files in a tree. Reads the header of every blob, which is slow in a large repository.
    pub fn tree_bytes(&self, tree: &str) -> Result<u64, GitError> {
        Ok(listed_bytes(&self.run(["ls-tree", "-r", "-l", "-z", tree])?))
    }
}

/// `mode type oid size<TAB>path`; the size of a submodule is `-`.
fn listed_bytes(listing: &[u8]) -> u64 {
    let size = |entry: &[u8]| -> Option<u64> {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        std::str::from_utf8(&entry[..tab]).ok()?.split_whitespace().nth(3)?.parse().ok()
    };
    listing.split(|byte| *byte == 0).filter_map(size).sum()
}

/// The total size of the files in an index; `None` if the index cannot be parsed or is split.
pub fn find_checkout_bytes(index: &Path) -> Option<u64> {
    let index = fs::read(index).ok()?;
    match indexed(&index, 20).or_else(|| indexed(&index, 32))? {
        Indexed::Whole(bytes) => Some(bytes),
        Indexed::Split => None,
    }
}

/// The sizes in an index file.
enum Indexed {
    Whole(u64),
    /// A split index: most entries are in another file.
    Split,
}

/// Adds up the file sizes in an index of version 2 to 4. `None` if it cannot be parsed with this object id length.
fn indexed(index: &[u8], oid_len: usize) -> Option<Indexed> {
    const HEADER: usize = 12;
    const SIZE_AT: usize = 36;
    const EXTENDED: u16 = 0x4000;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut total) = (HEADER, 0_u64);
    for _ in 0..number(8)? {
        total += u64::from(number(at + SIZE_AT)?);
        let flags_at = at + SIZE_AT + 4 + oid_len;
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let mut path_at = flags_at + 2;
        if version >= 3 && flags & EXTENDED != 0 {
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
    let mut split = false;
    // Extensions follow, each with a name and a length, up to the checksum.
    while at < end {
        let name = index.get(at..at + 4)?;
        if !name.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        split |= name == b"link";
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    (at == end).then_some(if split { Indexed::Split } else { Indexed::Whole(total) })
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
