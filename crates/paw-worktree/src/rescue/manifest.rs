//! The list of files in a rescue: kind, mode, blob and path of each.
//!
//! The blobs are also in a tree, so that git keeps them and plain git can show them. A tree cannot contain every file
//! name (`.git`, for example), so restoring uses the paths from the manifest.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::TreeEntry;

use super::allowed_paths::is_allowed;
use super::bytes_path;

/// Files in git's directory of a worktree that describe an operation in progress and hold only ids and text. The commands of a rebase
/// are not among them.
pub(super) const OPERATION_FILES: [&str; 10] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "COMMIT_EDITMSG",
    "info/sparse-checkout",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ItemKind {
    /// In git's admin directory of the worktree: the index, a merge in progress, …
    Admin,
    AdminDirectory,
    /// Tracked, but deleted on disk.
    Deleted,
    /// A directory that must be restored even if it is empty.
    Directory,
    /// Tracked and unchanged, with permissions that git does not store.
    Permissions,
    /// Tracked and changed.
    Changed,
    Untracked,
    /// In a nested repository: a submodule, or another repository inside the worktree.
    Nested,
    Ignored,
}

impl ItemKind {
    const ALL: [Self; 9] = [
        Self::Admin,
        Self::AdminDirectory,
        Self::Deleted,
        Self::Directory,
        Self::Permissions,
        Self::Changed,
        Self::Untracked,
        Self::Nested,
        Self::Ignored,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::AdminDirectory => "admin-directory",
            Self::Deleted => "deleted",
            Self::Directory => "directory",
            Self::Permissions => "permissions",
            Self::Changed => "changed",
            Self::Untracked => "untracked",
            Self::Nested => "nested",
            Self::Ignored => "ignored",
        }
    }
}

/// A path in a rescue, relative to the worktree or to its admin directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManifestItem {
    pub(super) kind: ItemKind,
    /// `st_mode`: type and permissions. Zero for deleted files.
    pub(super) mode: u32,
    /// Empty for items without content.
    pub(super) oid: String,
    pub(super) path: PathBuf,
}

impl ManifestItem {
    pub(super) fn is_symlink(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    pub(super) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Its mode in a git tree.
    pub(super) fn tree_mode(&self) -> &'static str {
        match self.mode {
            _ if self.is_symlink() => "120000",
            mode if mode & 0o100 != 0 => "100755",
            _ => "100644",
        }
    }

    /// Its entry in the state's tree, below the name of its kind.
    pub(super) fn tree_entry(&self) -> Option<TreeEntry> {
        let path = Path::new(self.kind.as_str()).join(tree_path(&self.path, self.is_symlink()));
        let has_content = !self.oid.is_empty();
        has_content.then(|| TreeEntry { mode: self.tree_mode().to_owned(), oid: self.oid.clone(), path })
    }
}

pub(super) fn to_bytes(items: &[ManifestItem]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in items {
        let oid = if item.oid.is_empty() { "-" } else { &item.oid };
        bytes.extend_from_slice(format!("{} {:o} {oid} ", item.kind.as_str(), item.mode).as_bytes());
        bytes.extend_from_slice(item.path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Why a manifest is not used.
pub(super) const FORBIDDEN_PATH: &str = "it contains a path that git does not allow";
const CORRUPT: &str = "its manifest is corrupt";

/// The problem if a line is invalid, or if a path is not one that git reports in a worktree.
pub(super) fn from_bytes(bytes: &[u8]) -> Result<Vec<ManifestItem>, &'static str> {
    let lines = bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let item = item(line).ok_or(CORRUPT)?;
            if is_allowed(item.kind, &item.path) { Ok(item) } else { Err(FORBIDDEN_PATH) }
        })
        .collect()
}

fn item(line: &[u8]) -> Option<ManifestItem> {
    let mut fields = line.splitn(4, |byte| *byte == b' ');
    let mut text = || fields.next().and_then(|field| std::str::from_utf8(field).ok());
    let (kind, mode, oid) = (text()?, text()?, text()?);
    let path = bytes_path(fields.next()?);
    let known = oid == "-" || oid.bytes().all(|byte| byte.is_ascii_hexdigit());
    known.then_some(())?;
    Some(ManifestItem {
        kind: ItemKind::ALL.into_iter().find(|known| known.as_str() == kind)?,
        mode: u32::from_str_radix(mode, 8).ok()?,
        oid: if oid == "-" { String::new() } else { oid.to_owned() },
        path,
    })
}

/// The path with every component escaped that git refuses in a tree on some system.
pub(super) fn tree_path(path: &Path, symlink: bool) -> PathBuf {
    let mut shown = PathBuf::new();
    for part in path {
        let part = part.as_bytes();
        if is_forbidden_in_tree(part, symlink) || part.starts_with(b"%") {
            shown.push(bytes_path(&[b"%", part].concat()));
        } else {
            shown.push(bytes_path(part));
        }
    }
    shown
}

/// Stricter than git's own rule: some systems ignore case, some characters, and anything after a dot, space or colon.
fn is_forbidden_in_tree(part: &[u8], symlink: bool) -> bool {
    let plain: Vec<u8> = part.iter().filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase).collect();
    let begins = plain.strip_prefix(b".git").map(|rest| rest.first().copied());
    let like_git =
        matches!(begins, Some(None | Some(b'.' | b' ' | b':' | b'\\'))) || plain.starts_with(b"git~");
    like_git || (symlink && (begins.is_some() || plain.contains(&b'~') || plain.starts_with(b".mailmap")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::path::Component;

    use super::*;

    fn path() -> impl Strategy<Value = PathBuf> {
        proptest::collection::vec(proptest::collection::vec(1_u8.., 1..6), 1..4).prop_map(|parts| {
            let parts = parts.into_iter().map(|mut part| {
                part.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'_');
                if part == b"." || part == b".." { b"dots".to_vec() } else { part }
            });
            parts.map(|part| bytes_path(&part)).collect()
        })
    }

    proptest! {
        #[test]
        fn manifest_round_trips_any_file_name(paths in proptest::collection::vec(path(), 0..6)) {
            let items: Vec<ManifestItem> = paths
                .into_iter()
                .enumerate()
                .map(|(at, path)| ManifestItem {
                    kind: ItemKind::ALL[at % ItemKind::ALL.len()],
                    mode: if at % 2 == 0 { 0o100_644 } else { 0 },
                    oid: if at % 3 == 0 { "ab12".to_owned() } else { String::new() },
                    path,
                })
                .collect();
            prop_assert_eq!(from_bytes(&to_bytes(&items)), Ok(items));
        }

        #[test]
        fn manifest_parser_never_panics_or_returns_an_outside_path(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            for item in from_bytes(&bytes).unwrap_or_default() {
                prop_assert!(item.path.components().all(|part| matches!(part, Component::Normal(_))));
            }
        }
    }

    #[test]
    fn manifest_refuses_a_path_outside_the_worktree() {
        for path in ["/etc/passwd", "../x", "a/../../x", "./x"] {
            let line = format!("untracked 100644 ab {path}\0");
            assert_eq!(from_bytes(line.as_bytes()), Err(FORBIDDEN_PATH), "{path}");
        }
    }

    #[test]
    fn tree_path_escapes_only_names_that_git_refuses() {
        let shown = |path: &str| tree_path(Path::new(path), false).display().to_string();
        assert_eq!(shown("a/.git/config"), "a/%.git/config");
        assert_eq!(shown(".GIT"), "%.GIT");
        assert_eq!(shown("git~1"), "%git~1");
        assert_eq!(shown("%x"), "%%x");
        assert_eq!(shown("src/.gitignore"), "src/.gitignore");
        assert_eq!(tree_path(Path::new(".gitmodules"), true), Path::new("%.gitmodules"));
    }
}
