//! Changes in a worktree: since its last commit, and between two moments.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Change, FileMode, Git, GitError, StatusEntry};

use super::FileChange;

/// The last commit, and every file that differs from it, with both contents. `None` in a repository without commits.
pub fn since_head(git: &Git) -> Result<(Option<String>, Vec<FileChange>), GitError> {
    let (head, entries) = git.status_of_commit()?;
    let mut committed: BTreeMap<PathBuf, PathStatus> = BTreeMap::new();
    for StatusEntry { path, change, committed: oid, modes } in entries {
        let (there, here) = modes.map_or((None, None), |(there, here)| (Some(there), Some(here)));
        match change {
            Change::Ignored => {}
            Change::Moved { from } => {
                committed.entry(path).or_default().here = here;
                committed.insert(from, PathStatus { oid, there, here: None });
            }
            // A file can be deleted in the index and exist untracked, so that git lists it twice.
            Change::Untracked => committed.entry(path).or_default().here = None,
            Change::Changed { .. } | Change::Unmerged => {
                drop(committed.insert(path, PathStatus { oid, there, here }));
            }
        }
    }
    let oids: Vec<String> = committed.values().filter_map(|known| known.oid.clone()).collect();
    let mut texts = git.read_objects(&oids)?.into_iter().map(as_text);
    let changes = committed.into_iter().map(|(path, known)| {
        let file = git.dir().join(&path);
        // With core.fileMode off, git reports the mode it would store.
        let mode = known.here.unwrap_or_else(|| mode_of(&file));
        let was = known.there.filter(|_| known.oid.is_some()).unwrap_or(mode);
        let before = known.oid.and_then(|_| texts.next());
        FileChange { path, before, after: text_of(&file), modes: (was, mode) }
    });
    // Drops submodules, and files whose timestamp changed but not their content.
    Ok((head, changes.filter(FileChange::is_change).collect()))
}

/// The status of a path in git: the committed object, and both modes.
#[derive(Default)]
struct PathStatus {
    oid: Option<String>,
    there: Option<FileMode>,
    here: Option<FileMode>,
}

/// Changes between two trees or commits, with both contents. Submodules are omitted.
pub fn between_trees(git: &Git, before: &str, after: &str) -> Result<Vec<FileChange>, GitError> {
    let options = ["-r", "--raw", "-z", "--no-abbrev", "--no-renames", before, after];
    let listing = git.plumb(None, ["diff-tree"].into_iter().chain(options))?;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut found: Vec<(PathBuf, [Option<String>; 2], [FileMode; 2])> = Vec::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let facts = String::from_utf8_lossy(facts).into_owned();
        let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
        let [was, is, from, to, _] = words[..] else { continue };
        if was == "160000" || is == "160000" {
            continue;
        }
        let there = |oid: &str| (!oid.bytes().all(|byte| byte == b'0')).then(|| oid.to_owned());
        let mode = |mode: &str| match mode {
            "100755" => FileMode::Executable,
            "120000" => FileMode::Link,
            _ => FileMode::Plain,
        };
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        found.push((path, [there(from), there(to)], [mode(was), mode(is)]));
    }
    let oids: Vec<String> = found.iter().flat_map(|(_, oids, _)| oids.iter().flatten().cloned()).collect();
    let mut texts = git.read_objects(&oids)?.into_iter().map(as_text);
    let mut changes = Vec::new();
    for (path, [from, to], [was, is]) in found {
        let before = from.and_then(|_| texts.next());
        let after = to.and_then(|_| texts.next());
        let modes = if before.is_none() { (is, is) } else { (was, is) };
        changes.push(FileChange { path, before, after, modes });
    }
    Ok(changes)
}

/// Changes between two lists of changes against the same commit.
pub fn between(earlier: &[FileChange], later: &[FileChange]) -> Vec<FileChange> {
    let by_path = |changes: &[FileChange]| -> BTreeMap<PathBuf, FileChange> {
        changes.iter().map(|change| (change.path.clone(), change.clone())).collect()
    };
    let (earlier, later) = (by_path(earlier), by_path(later));
    let paths: BTreeSet<&PathBuf> = earlier.keys().chain(later.keys()).collect();
    let changes = paths.into_iter().map(|path| {
        let (then, now) = (earlier.get(path), later.get(path));
        // A file that is not listed is unchanged since the commit.
        let committed =
            then.or(now).map(|change| (change.before.clone(), change.modes.0)).unwrap_or_default();
        let state = |change: Option<&FileChange>| match change {
            Some(change) => (change.after.clone(), change.modes.1),
            None => committed.clone(),
        };
        let ((before, was), (after, is)) = (state(then), state(now));
        FileChange { path: path.clone(), before, after, modes: (was, is) }
    });
    changes.filter(FileChange::is_change).collect()
}

/// The content of a file or the target of a symlink.
fn text_of(path: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(as_text(target.into_os_string().into_vec()));
    }
    metadata.is_file().then(|| fs::read(path).ok())?.map(as_text)
}

fn mode_of(path: &Path) -> FileMode {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => FileMode::Link,
        Ok(metadata) if metadata.permissions().mode() & 0o100 != 0 => FileMode::Executable,
        _ => FileMode::Plain,
    }
}

/// Maps each invalid byte to a private-use character, so that different files never compare equal.
fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let letter = |byte: &u8| char::from_u32(0xF_0000 + u32::from(*byte));
        let mut text = String::new();
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().filter_map(letter));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
        FileChange { path: path.into(), before, after, ..FileChange::default() }
    }

    #[test]
    fn between_returns_only_changes_in_between() {
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

    #[test]
    fn invalid_utf8_content_compares_as_different() {
        assert_eq!(as_text(b"caf\xc3\xa9".to_vec()), "café");
        assert_ne!(as_text(b"caf\xe9".to_vec()), as_text(b"caf\xe8".to_vec()));
        assert_ne!(as_text(b"\xff\xff".to_vec()), as_text(b"\xff".to_vec()));
    }
}
