//! Everything in a worktree that is in no commit, in enough detail to store it. `status` is the version for people.

use std::path::PathBuf;

use super::{Git, GitError, path};

/// A path that differs from HEAD or is untracked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub path: PathBuf,
    pub kind: DifferenceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Changed in the index, in the worktree, or both.
    Tracked {
        staged: bool,
        unstaged: bool,
        submodule: bool,
    },
    Unmerged,
    /// A file, or a directory that contains its own repository.
    Untracked,
    /// A file or a whole directory.
    Ignored,
}

/// An index entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub path: PathBuf,
    pub mode: String,
    pub oid: String,
    /// 0, or the side of a conflict.
    pub stage: u8,
    /// git does not check the file for changes: `skip-worktree` or `assume-unchanged`.
    pub unwatched: bool,
    /// The file is not checked out, as in a sparse checkout: `skip-worktree`.
    pub skipped: bool,
}

impl IndexEntry {
    pub fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

impl Git {
    /// All differences, regardless of configuration that would hide some. Writes nothing.
    pub fn differences(&self) -> Result<Vec<Difference>, GitError> {
        let args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching"];
        let more = ["--no-renames", "--ignore-submodules=none"];
        let listing = self.plumb_unfiltered(&[&args[..], &more].concat())?;
        Ok(listing.split(|byte| *byte == 0).filter_map(difference).collect())
    }

    /// The whole index; a sparse index is expanded.
    pub fn index_entries(&self) -> Result<Vec<IndexEntry>, GitError> {
        let listing = self.plumb(None, ["ls-files", "-z", "-v", "--stage", "--full-name", "--", ":/"])?;
        Ok(parse_index_entries(&listing))
    }
}

/// Parses `ls-files -z -v --stage`.
pub fn parse_index_entries(listing: &[u8]) -> Vec<IndexEntry> {
    listing.split(|byte| *byte == 0).filter_map(index_entry).collect()
}

/// The path is the last of a fixed number of fields and may contain spaces. Without renames, a record has one path.
fn difference(record: &[u8]) -> Option<Difference> {
    let differs = |at: usize| record.get(at).is_some_and(|letter| *letter != b'.');
    let (fields, kind) = match record.first()? {
        b'1' => {
            let submodule = record.get(5) == Some(&b'S');
            (9, DifferenceKind::Tracked { staged: differs(2), unstaged: differs(3), submodule })
        }
        b'u' => (11, DifferenceKind::Unmerged),
        b'?' => (2, DifferenceKind::Untracked),
        b'!' => (2, DifferenceKind::Ignored),
        _ => return None,
    };
    let name = record.splitn(fields, |byte| *byte == b' ').nth(fields - 1)?;
    Some(Difference { path: path(name.strip_suffix(b"/").unwrap_or(name)), kind })
}

/// `tag mode oid stage`, a tab, the path. A lower-case tag means assume-unchanged, `S` means skip-worktree.
fn index_entry(record: &[u8]) -> Option<IndexEntry> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
    let tag = fields.next()?;
    Some(IndexEntry {
        path: path(&record[tab + 1..]),
        mode: fields.next()?.to_owned(),
        oid: fields.next()?.to_owned(),
        stage: fields.next()?.parse().ok()?,
        skipped: tag.eq_ignore_ascii_case("S"),
        unwatched: tag == "S" || tag.chars().all(|c| c.is_ascii_lowercase()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_difference_is_parsed() {
        let of = |record: &[u8]| difference(record).unwrap();
        let tracked = |staged, unstaged, submodule| DifferenceKind::Tracked { staged, unstaged, submodule };
        assert_eq!(of(b"1 .M N... 100644 100644 100644 a b x y\nz").path, path(b"x y\nz"));
        assert_eq!(of(b"1 .M N... 100644 100644 100644 a b x").kind, tracked(false, true, false));
        assert_eq!(of(b"1 A. N... 100644 100644 100644 a b x").kind, tracked(true, false, false));
        assert_eq!(of(b"1 .M SC.U 160000 160000 160000 a b sub").kind, tracked(false, true, true));
        assert_eq!(of(b"u UU N... 1 2 3 4 a b c x y").kind, DifferenceKind::Unmerged);
        assert_eq!(of(b"? nested/"), Difference { path: path(b"nested"), kind: DifferenceKind::Untracked });
        assert_eq!(of(b"! target/").kind, DifferenceKind::Ignored);
        assert_eq!(difference(b"# branch.head main"), None);
    }

    #[test]
    fn index_entries_are_parsed_with_stage_and_flags() {
        let of = |record: &[u8]| index_entry(record).unwrap();
        assert_eq!((of(b"H 100644 aa 0\tx").unwatched, of(b"H 100644 aa 0\tx").stage), (false, 0));
        assert_eq!((of(b"M 100644 aa 2\tx").unwatched, of(b"M 100644 aa 2\tx").stage), (false, 2));
        assert!(of(b"S 100644 aa 0\tx").unwatched && of(b"h 100644 aa 0\tx").unwatched);
        assert!(of(b"S 100644 aa 0\tx").skipped && !of(b"h 100644 aa 0\tx").skipped);
        assert!(of(b"H 160000 aa 0\tsub").is_submodule());
    }

    proptest! {
        #[test]
        fn parsing_any_record_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            difference(&bytes);
            index_entry(&bytes);
        }
    }
}
