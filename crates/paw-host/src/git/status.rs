//! The changed files of a worktree, from `git status --porcelain=v2 -z`.

use std::path::PathBuf;

use super::{Git, GitError, path};

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusEntry {
    pub path: PathBuf,
    pub change: Change,
    /// The blob in HEAD, at this path or at the one it was moved from; `None` for a new file.
    pub committed: Option<String>,
    /// The mode in HEAD and in the worktree; `None` for an untracked file.
    pub modes: Option<(FileMode, FileMode)>,
}

/// The file modes that git distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileMode {
    #[default]
    Plain,
    Executable,
    Link,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A tracked file that changed in the index, in the worktree, or both.
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

/// A submodule counts as changed if it is at another commit; its files are not looked at.
const STATUS: [&str; 5] =
    ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];

impl Git {
    /// Every changed and untracked file. New directories are listed file by file.
    pub fn status(&self) -> Result<Vec<StatusEntry>, GitError> {
        Ok(parse(&self.plumb_unfiltered(&STATUS)?))
    }

    /// Like [`Git::status`], together with the HEAD commit, in one git call. A repository without commits has none.
    pub fn status_of_commit(&self) -> Result<(Option<String>, Vec<StatusEntry>), GitError> {
        let listing = self.plumb_unfiltered(&[&STATUS[..], &["--branch", "--no-ahead-behind"]].concat())?;
        Ok((commit(&listing), parse(&listing)))
    }
}

/// `# branch.oid 1f2e…`, or `(initial)`. Headers come first.
fn commit(listing: &[u8]) -> Option<String> {
    let mut headers = listing.split(|byte| *byte == 0).take_while(|record| record.starts_with(b"# "));
    let oid = headers.find_map(|header| header.strip_prefix(b"# branch.oid "))?;
    (oid != b"(initial)").then(|| String::from_utf8_lossy(oid).into_owned())
}

fn parse(listing: &[u8]) -> Vec<StatusEntry> {
    let mut records = listing.split(|byte| *byte == 0);
    let mut entries = Vec::new();
    while let Some(record) = records.next() {
        // The path is the last of a fixed number of fields and may contain spaces.
        let (fields, change) = match record.first() {
            Some(b'1') => (9, changed(record)),
            Some(b'2') => (10, Change::Moved { from: records.next().map(path).unwrap_or_default() }),
            Some(b'u') => (11, Change::Unmerged),
            Some(b'?') => (2, Change::Untracked),
            Some(b'!') => (2, Change::Ignored),
            _ => continue,
        };
        let words: Vec<&[u8]> = record.splitn(fields, |byte| *byte == b' ').collect();
        if let Some(name) = words.get(fields - 1) {
            // An unmerged file has three versions; the second is ours.
            let (mode, oid) = if change == Change::Unmerged { (4, 8) } else { (3, 6) };
            let here = if change == Change::Unmerged { 6 } else { 5 };
            let tracked = fields > 2;
            let committed = if tracked { committed(words[mode], words[oid]) } else { None };
            let modes = tracked.then(|| (file_mode(words[mode]), file_mode(words[here])));
            entries.push(StatusEntry { path: path(name), change, committed, modes });
        }
    }
    entries
}

/// `None` for a submodule and for a null object id.
fn committed(mode: &[u8], oid: &[u8]) -> Option<String> {
    let is_file = mode != b"160000" && !oid.iter().all(|byte| *byte == b'0');
    is_file.then(|| String::from_utf8_lossy(oid).into_owned())
}

fn file_mode(mode: &[u8]) -> FileMode {
    match mode {
        b"100755" => FileMode::Executable,
        b"120000" => FileMode::Link,
        _ => FileMode::Plain,
    }
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
    fn every_kind_of_record_is_parsed_with_odd_bytes_in_its_path() {
        let listing = b"1 .M N... 100644 100644 100644 aaaa bbbb a b\n c\0\
            1 A. N... 000000 100644 100644 0000 bbbb new\0\
            2 R. N... 100644 100644 100644 aaaa bbbb R100 to here\0from \xff\0\
            u UU N... 100644 100644 100644 100644 a b c both\0\
            1 .M SC.. 160000 160000 160000 aaaa aaaa module\0\
            ? dir/un tracked\0! target\0";
        let plain = Some((FileMode::Plain, FileMode::Plain));
        let entry = |name: &[u8], change: Change, oid: &str| StatusEntry {
            path: path(name),
            modes: if matches!(change, Change::Untracked | Change::Ignored) { None } else { plain },
            change,
            committed: (!oid.is_empty()).then(|| oid.to_owned()),
        };
        assert_eq!(
            parse(listing),
            [
                entry(b"a b\n c", Change::Changed { staged: false, unstaged: true }, "aaaa"),
                entry(b"new", Change::Changed { staged: true, unstaged: false }, ""),
                entry(b"to here", Change::Moved { from: path(b"from \xff") }, "aaaa"),
                entry(b"both", Change::Unmerged, "b"),
                entry(b"module", Change::Changed { staged: false, unstaged: true }, ""),
                entry(b"dir/un tracked", Change::Untracked, ""),
                entry(b"target", Change::Ignored, ""),
            ]
        );
    }

    #[test]
    fn modes_come_from_head_and_from_the_worktree() {
        let modes = |listing: &[u8]| parse(listing)[0].modes.unwrap();
        let of = modes(b"1 .M N... 100644 100644 100755 aaaa aaaa run.sh\0");
        assert_eq!(of, (FileMode::Plain, FileMode::Executable));
        let of = modes(b"u UU N... 100644 100755 100644 120000 a b c both\0");
        assert_eq!(of, (FileMode::Executable, FileMode::Link));
    }

    #[test]
    fn the_commit_is_read_from_the_headers_only() {
        assert_eq!(commit(b"# branch.oid 12ab\0# branch.head main\0? x\0").as_deref(), Some("12ab"));
        assert_eq!(commit(b"# branch.oid (initial)\0# branch.head main\0"), None);
        assert_eq!(commit(b"? x\0# branch.oid 12ab\0"), None);
    }

    proptest! {
        #[test]
        fn parsing_any_status_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
            commit(&bytes);
        }
    }
}
