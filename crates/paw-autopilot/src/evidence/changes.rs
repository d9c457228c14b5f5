//! What changed in a worktree: since its last commit, and from one look to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Change, Git, GitError};

use super::FileChange;

/// Every file that differs from the last commit, new ones included, with both of its texts.
pub fn since_head(git: &Git) -> Result<Vec<FileChange>, GitError> {
    let mut paths = BTreeSet::new();
    for entry in git.status()? {
        match entry.change {
            Change::Ignored => continue,
            Change::Moved { from } => drop(paths.insert(from)),
            Change::Changed { .. } | Change::Unmerged | Change::Untracked => {}
        }
        paths.insert(entry.path);
    }
    let committed = committed(git, &paths)?;
    let changes = paths.into_iter().map(|path| FileChange {
        before: committed.get(&path).cloned(),
        after: text_of(&git.dir().join(&path)),
        path,
    });
    // A submodule is a directory; a file whose time changed is the same file.
    Ok(changes.filter(|change| change.before != change.after).collect())
}

/// What changed between two looks at the same commit.
pub fn between(earlier: &[FileChange], later: &[FileChange]) -> Vec<FileChange> {
    let by_path = |changes: &[FileChange]| -> BTreeMap<PathBuf, FileChange> {
        changes.iter().map(|change| (change.path.clone(), change.clone())).collect()
    };
    let (earlier, later) = (by_path(earlier), by_path(later));
    let paths: BTreeSet<&PathBuf> = earlier.keys().chain(later.keys()).collect();
    let changes = paths.into_iter().map(|path| {
        let (then, now) = (earlier.get(path), later.get(path));
        // What is not among the changes is as it was committed.
        let committed = then.or(now).and_then(|change| change.before.clone());
        let text = |change: Option<&FileChange>| match change {
            Some(change) => change.after.clone(),
            None => committed.clone(),
        };
        FileChange { path: path.clone(), before: text(then), after: text(now) }
    });
    changes.filter(|change| change.before != change.after).collect()
}

/// The texts of files as they are in the last commit. A repository without a commit has none.
fn committed(git: &Git, paths: &BTreeSet<PathBuf>) -> Result<BTreeMap<PathBuf, String>, GitError> {
    if paths.is_empty() || git.find_object("HEAD", "tree")?.is_none() {
        return Ok(BTreeMap::new());
    }
    let entries = git.tree_entries("HEAD")?;
    let wanted: Vec<_> =
        entries.into_iter().filter(|entry| paths.contains(&entry.path) && entry.mode != "160000").collect();
    let oids: Vec<String> = wanted.iter().map(|entry| entry.oid.clone()).collect();
    let texts =
        git.read_objects(&oids)?.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(wanted.into_iter().map(|entry| entry.path).zip(texts).collect())
}

/// The text of a file, or where a link points; nothing for what is neither.
fn text_of(path: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(String::from_utf8_lossy(target.as_os_str().as_bytes()).into_owned());
    }
    let bytes = metadata.is_file().then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        FileChange { path: path.into(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
    }

    #[test]
    fn between_two_looks_only_what_changed_in_between_counts() {
        let red =
            [change("a", Some("1"), Some("2")), change("t", None, Some("x")), change("u", Some("1"), None)];
        let green = [
            change("b", Some("1"), Some("3")),
            change("t", None, Some("x")),
            change("u", Some("1"), Some("2")),
        ];
        assert_eq!(
            between(&red, &green),
            [
                change("a", Some("2"), Some("1")),
                change("b", Some("1"), Some("3")),
                change("u", None, Some("2"))
            ]
        );
        assert!(between(&red, &red).is_empty());
    }
}
