//! Asking git which files are ignored, in the main checkout and in the new worktree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError};
use paw_host::process::Exit;

use super::SkipReason;
use super::gather::{CopyItem, EntryKind, IgnoredRoot};

/// All ignored paths. A directory that is ignored as a whole is one entry.
pub(super) fn list(checkout: &Path) -> Result<Vec<(PathBuf, EntryKind)>, GitError> {
    let args = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let listing = Git::at(checkout).run(args)?;
    let entries = listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    Ok(entries
        .map(|entry| match entry.strip_suffix(b"/") {
            Some(dir) => (path(dir), EntryKind::Directory),
            None => (path(entry), EntryKind::File),
        })
        .collect())
}

/// Which of these paths are ignored. Tracked paths never are. Directories must exist to match directory rules.
pub(super) fn find_ignored<'a>(
    checkout: &Path,
    paths: impl IntoIterator<Item = &'a Path>,
) -> Result<BTreeSet<PathBuf>, GitError> {
    // The prefix keeps git from reading a leading colon as pathspec magic.
    let queries: Vec<Vec<u8>> =
        paths.into_iter().map(|path| [b"./", path.as_os_str().as_bytes()].concat()).collect();
    let mut covered = BTreeSet::new();
    check_ignore(&Git::at(checkout), &queries, &mut covered)?;
    Ok(covered)
}

/// Git rejects the whole list if one path is invalid (behind a symlink, inside a submodule), so bisect to skip it.
fn check_ignore(git: &Git, queries: &[Vec<u8>], covered: &mut BTreeSet<PathBuf>) -> Result<(), GitError> {
    if queries.is_empty() {
        return Ok(());
    }
    let command = git.command(["check-ignore", "-z", "--stdin"]).input(queries.join(&0));
    let output = command.capture()?;
    match output.exit {
        Exit::Code(0 | 1) => {
            let ignored = output.stdout.split(|byte| *byte == 0).filter_map(|line| line.strip_prefix(b"./"));
            covered.extend(ignored.map(path));
            Ok(())
        }
        Exit::Code(128) if queries.len() > 1 => {
            let (first, second) = queries.split_at(queries.len() / 2);
            check_ignore(git, first, covered)?;
            check_ignore(git, second, covered)
        }
        // Either this path is invalid, or git fails altogether; the latter is an error.
        Exit::Code(128) => git.run(["rev-parse", "--git-dir"]).map(drop),
        exit => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(GitError::Failed { command: command.to_string(), exit, stderr })
        }
    }
}

/// The items that are ignored in the worktree `to` as well. The others are added to `skipped`.
pub(super) fn select_ignored_in(
    to: &Path,
    roots: Vec<IgnoredRoot>,
    skipped: &mut Vec<(PathBuf, SkipReason)>,
) -> Result<Vec<CopyItem>, GitError> {
    let whole = find_ignored(to, roots.iter().map(|root| root.path.as_path()))?;
    let (mut allowed, mut doubtful) = (Vec::new(), Vec::new());
    for root in roots {
        let list = if whole.contains(&root.path) { &mut allowed } else { &mut doubtful };
        list.extend(root.items);
    }
    let single = find_ignored(to, doubtful.iter().map(|item| item.path.as_path()))?;
    for item in doubtful {
        if single.contains(&item.path) {
            allowed.push(item);
        } else if item.kind != EntryKind::Directory {
            let exists = to.join(&item.path).symlink_metadata().is_ok();
            let reason = if exists { SkipReason::Exists } else { SkipReason::NotIgnoredThere };
            skipped.push((item.path, reason));
        }
    }
    Ok(allowed)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
