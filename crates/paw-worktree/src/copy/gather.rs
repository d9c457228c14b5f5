//! The ignored files of the main checkout that the patterns select.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use paw_core::paths::CheckoutDir;
use paw_host::git::GitError;

use super::patterns::Patterns;
use super::{SkipReason, ignored};

/// The type of a path, without following symlinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Directory,
    File,
    Link,
}

/// A path to copy, relative to the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyItem {
    pub(super) path: PathBuf,
    pub(super) kind: EntryKind,
}

impl CopyItem {
    /// The directory that must exist first.
    pub(super) fn dir(&self) -> &Path {
        dir_for(&self.path, self.kind)
    }
}

fn dir_for(path: &Path, kind: EntryKind) -> &Path {
    if kind == EntryKind::Directory { path } else { path.parent().unwrap_or(Path::new("")) }
}

/// A path that git ignores as a whole, and what to copy from it.
#[derive(Debug)]
pub(super) struct IgnoredRoot {
    pub(super) path: PathBuf,
    pub(super) kind: EntryKind,
    pub(super) items: Vec<CopyItem>,
}

impl IgnoredRoot {
    /// The directory that must exist first.
    pub(super) fn dir(&self) -> &Path {
        dir_for(&self.path, self.kind)
    }
}

/// What to copy, and what to skip.
#[derive(Debug, Default)]
pub(super) struct CopySelection {
    pub(super) roots: Vec<IgnoredRoot>,
    pub(super) skipped: Vec<(PathBuf, SkipReason)>,
}

/// Selects the ignored files below `from` that match `patterns`, without the worktree `to` if it is inside `from`.
pub(super) fn gather(patterns: &Patterns, from: &Path, to: &Path) -> Result<CopySelection, GitError> {
    let mut entries = ignored::list(from)?;
    entries.retain(|(path, kind)| {
        let is_dir = *kind == EntryKind::Directory;
        patterns.select(path, is_dir) || (is_dir && patterns.may_reach_into(path))
    });
    // Git also lists directories that only contain ignored files, and then lists those files.
    let dirs = entries.iter().filter(|(_, kind)| *kind == EntryKind::Directory);
    let whole = ignored::find_ignored(from, dirs.map(|(path, _)| path.as_path()))?;
    entries.retain(|(path, kind)| *kind != EntryKind::Directory || whole.contains(path));

    let mut walk = Walk { patterns, from, to: to.canonicalize().ok(), found: CopySelection::default() };
    for (path, kind) in entries {
        walk.add_root(path, kind);
    }
    Ok(walk.found)
}

struct Walk<'a> {
    patterns: &'a Patterns,
    from: &'a Path,
    /// The new worktree, which may be inside the checkout.
    to: Option<PathBuf>,
    found: CopySelection,
}

impl Walk<'_> {
    fn add_root(&mut self, path: PathBuf, kind: EntryKind) {
        let wanted = self.patterns.select(&path, kind == EntryKind::Directory);
        let mut items = Vec::new();
        if path.starts_with(CheckoutDir::NAME) {
            self.skip(wanted, &path, SkipReason::Ours);
        } else if kind == EntryKind::Directory {
            self.add_directory(wanted, wanted, &path, &mut items);
        } else {
            match fs::symlink_metadata(self.from.join(&path)) {
                Ok(metadata) => self.add_file(true, &path, metadata.file_type(), &mut items),
                Err(error) => self.skip(true, &path, SkipReason::Failed(error.to_string())),
            }
        }
        if !items.is_empty() {
            self.found.roots.push(IgnoredRoot { path, kind, items });
        }
    }

    /// `whole`: the outermost ignored directory is selected; `wanted`: this one is selected.
    fn add_directory(&mut self, whole: bool, wanted: bool, dir: &Path, items: &mut Vec<CopyItem>) {
        let path = self.from.join(dir);
        if fs::symlink_metadata(path.join(".git")).is_ok() {
            return self.skip(wanted, dir, SkipReason::OtherCheckout);
        }
        if self.to.is_some() && path.canonicalize().ok() == self.to {
            return;
        }
        let entries = fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.skip(wanted, dir, SkipReason::Failed(error.to_string())),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        if wanted {
            items.push(CopyItem { path: dir.to_path_buf(), kind: EntryKind::Directory });
        }
        for entry in entries {
            let path = dir.join(entry.file_name());
            match entry.file_type() {
                Ok(file_type) => self.add_child(whole, &path, file_type, items),
                Err(error) => self.skip(wanted, &path, SkipReason::Failed(error.to_string())),
            }
        }
    }

    fn add_child(&mut self, whole: bool, path: &Path, file_type: FileType, items: &mut Vec<CopyItem>) {
        let wanted = self.patterns.select_below(whole, path, file_type.is_dir());
        if !file_type.is_dir() {
            self.add_file(wanted, path, file_type, items);
        } else if wanted || whole || self.patterns.may_reach_into(path) {
            self.add_directory(whole, wanted, path, items);
        }
    }

    fn add_file(&mut self, wanted: bool, path: &Path, file_type: FileType, items: &mut Vec<CopyItem>) {
        if !wanted {
        } else if file_type.is_symlink() {
            items.push(CopyItem { path: path.to_path_buf(), kind: EntryKind::Link });
        } else if file_type.is_file() {
            items.push(CopyItem { path: path.to_path_buf(), kind: EntryKind::File });
        } else {
            self.skip(true, path, SkipReason::Special);
        }
    }

    fn skip(&mut self, wanted: bool, path: &Path, reason: SkipReason) {
        if wanted {
            self.found.skipped.push((path.to_path_buf(), reason));
        }
    }
}
