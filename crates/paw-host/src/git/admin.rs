//! The admin directory of a linked worktree, `<common>/worktrees/<id>`.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::path;

/// The admin directory of the worktree at `dir`, from its `.git` file.
pub fn find_linked_admin_dir(dir: &Path) -> Option<PathBuf> {
    let link = fs::read(dir.join(".git")).ok()?;
    let target = link.strip_prefix(b"gitdir: ")?;
    Some(normalize(&dir.join(path(target.strip_suffix(b"\n").unwrap_or(target)))))
}

/// The admin directory of the worktree at `dir`, from the list in the repository. Works even if `dir` was deleted.
pub fn find_admin_dir(common_dir: &Path, dir: &Path) -> Option<PathBuf> {
    let git_file = dir.join(".git");
    let entries = fs::read_dir(common_dir.join("worktrees")).ok()?;
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|admin| worktree_of(admin).is_some_and(|worktree| worktree.join(".git") == git_file))
}

/// The worktree that an admin directory belongs to.
pub fn worktree_of(admin_dir: &Path) -> Option<PathBuf> {
    let text = fs::read(admin_dir.join("gitdir")).ok()?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let git_file = normalize(&admin_dir.join(path(text)));
    git_file.as_os_str().as_bytes().strip_suffix(b"/.git").map(path)
}

/// Removes `..`, which git writes if it is configured to use relative paths.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_normalized() {
        assert_eq!(normalize(Path::new("/a/b/../../c/./d")), Path::new("/c/d"));
    }
}
