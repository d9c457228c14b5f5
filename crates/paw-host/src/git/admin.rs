//! The directory git keeps about each linked worktree, `<common>/worktrees/<id>`.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::path;

/// The directory about the worktree at `dir`, found through the worktree's own `.git` file.
pub fn find_linked_admin_dir(dir: &Path) -> Option<PathBuf> {
    let link = fs::read(dir.join(".git")).ok()?;
    let target = link.strip_prefix(b"gitdir: ")?;
    Some(tidy(&dir.join(path(target.strip_suffix(b"\n").unwrap_or(target)))))
}

/// The directory about the worktree at `dir`, found among those the repository has. Works when `dir` is gone.
pub fn find_admin_dir(common_dir: &Path, dir: &Path) -> Option<PathBuf> {
    let git_file = dir.join(".git");
    let entries = fs::read_dir(common_dir.join("worktrees")).ok()?;
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|admin| worktree_of(admin).is_some_and(|worktree| worktree.join(".git") == git_file))
}

/// The worktree an admin directory is about.
pub fn worktree_of(admin_dir: &Path) -> Option<PathBuf> {
    let text = fs::read(admin_dir.join("gitdir")).ok()?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let git_file = tidy(&admin_dir.join(path(text)));
    git_file.as_os_str().as_bytes().strip_suffix(b"/.git").map(path)
}

/// Without `..`, which git writes when it is told to use relative paths.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            tidy.pop();
        } else {
            tidy.push(part);
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_followed() {
        assert_eq!(tidy(Path::new("/a/b/../../c/./d")), Path::new("/c/d"));
    }
}
