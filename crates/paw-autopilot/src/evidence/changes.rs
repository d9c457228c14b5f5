//! What changed in a worktree: since its last commit, and from one look to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Change, Git, GitError, StatusEntry};

use super::FileChange;

/// The last commit, and every file that differs from it, new ones included, with both of its texts. A repository without a
/// commit has none.
pub fn since_head(git: &Git) -> Result<(Option<String>, Vec<FileChange>), GitError> {
    let (head, entries) = git.status_of_commit()?;
    let mut committed: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    for StatusEntry { path, change, committed: oid } in entries {
        match change {
            Change::Ignored => {}
            Change::Moved { from } => {
                committed.entry(path).or_default();
                committed.insert(from, oid);
            }
            // A file can be deleted in the index and be there again, untracked: it is told twice.
            Change::Untracked => drop(committed.entry(path).or_default()),
            Change::Changed { .. } | Change::Unmerged => drop(committed.insert(path, oid)),
        }
    }
    let oids: Vec<String> = committed.values().flatten().cloned().collect();
    let mut texts =
        git.read_objects(&oids)?.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let changes = committed.into_iter().map(|(path, oid)| FileChange {
        before: oid.and_then(|_| texts.next()),
        after: text_of(&git.dir().join(&path)),
        path,
    });
    // A submodule is a directory; a file whose time changed is the same file.
    Ok((head, changes.filter(|change| change.before != change.after).collect()))
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
