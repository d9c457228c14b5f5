//! Which paths a rescue may write: those that git could have reported. A rescue is data that another program may have written,
//! and a `.git` in the wrong place decides which commands git runs.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::manifest::{ItemKind, ManifestItem};

/// The name of git's own directory, or of the file that points to it.
const DOT_GIT: &str = ".git";

/// Whether the path of an item may be written. Only nested repositories contain a `.git`; the worktree's own is never stored.
pub(super) fn is_allowed(kind: ItemKind, path: &Path) -> bool {
    let may_have_repositories = match kind {
        ItemKind::Admin | ItemKind::AdminDirectory => return is_inside(path),
        ItemKind::Nested | ItemKind::Ignored | ItemKind::Directory => true,
        ItemKind::Deleted | ItemKind::Permissions | ItemKind::Changed | ItemKind::Untracked => false,
    };
    let is_own = path.starts_with(DOT_GIT);
    is_inside(path) && !is_own && (may_have_repositories || path.iter().all(|part| part != DOT_GIT))
}

/// Whether git accepts the path in an index.
pub(super) fn is_tracked_path(path: &Path) -> bool {
    is_inside(path) && !path.iter().any(|part| part.eq_ignore_ascii_case(DOT_GIT))
}

fn is_inside(path: &Path) -> bool {
    let is_normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    path.is_relative() && path.file_name().is_some() && path.components().all(is_normal)
}

/// The path of an item that leads into a `.git` under another name. Which names do that depends on the file system: some
/// ignore case, some ignore characters, some know short names.
pub(super) fn find_alias(dir: &Path, items: &[ManifestItem]) -> Option<PathBuf> {
    let mut seen = HashSet::new();
    let work = items.iter().filter(|item| !matches!(item.kind, ItemKind::Admin | ItemKind::AdminDirectory));
    for item in work {
        let above = item.path.ancestors().filter(|above| !above.as_os_str().is_empty());
        // What is above a known path is known, too.
        for path in above.take_while(|path| seen.insert(*path)) {
            if path.file_name().is_some_and(|name| name != DOT_GIT)
                && is_same_file(&dir.join(path), &dir.join(path.with_file_name(DOT_GIT)))
            {
                return Some(item.path.clone());
            }
        }
    }
    None
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::symlink_metadata(path).map(|found| (found.dev(), found.ino())).ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Whether some system takes the name for `.git`: macOS ignores case and some characters, Windows ignores case and what follows a
/// colon, trailing dots and spaces, and has a short name for it.
pub(super) fn is_git_on_any_system(name: &OsStr) -> bool {
    let plain: Vec<u8> = name.as_bytes().iter().filter(|byte| byte.is_ascii()).copied().collect();
    let end = plain.iter().position(|byte| matches!(byte, b':' | b'\\')).unwrap_or(plain.len());
    let trailing = plain[..end].iter().rev().take_while(|byte| matches!(byte, b'.' | b' ')).count();
    let name = &plain[..end - trailing];
    name.eq_ignore_ascii_case(DOT_GIT.as_bytes()) || name.eq_ignore_ascii_case(b"git~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_system_takes_for_git_are_known() {
        for name in [
            ".git",
            ".GIT",
            ".g\u{200c}it",
            ".git.",
            ".git . ",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            ".git\\x",
        ] {
            assert!(is_git_on_any_system(OsStr::new(name)), "{name}");
        }
        for name in [".gitignore", ".git.bak", "git", "git~12", "x.git", ""] {
            assert!(!is_git_on_any_system(OsStr::new(name)), "{name}");
        }
    }
}
