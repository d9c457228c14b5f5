//! Asking git what is ignored: in the main checkout, and whether it would be in the new worktree too.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError};
use paw_host::process::Exit;

use super::SkipReason;
use super::gather::{CopyItem, EntryKind, IgnoredRoot};

/// Everything ignored, a directory in which all is ignored as one entry with a slash at its end.
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

/// Which of these paths an ignore rule covers. Tracked ones never are. What shall count as a directory must exist.
pub(super) fn find_ignored<'a>(
    checkout: &Path,
    paths: impl IntoIterator<Item = &'a Path>,
) -> Result<BTreeSet<PathBuf>, GitError> {
    // A path that begins with a colon would have a meaning of its own.
    let questions: Vec<Vec<u8>> =
        paths.into_iter().map(|path| [b"./", path.as_os_str().as_bytes()].concat()).collect();
    let mut covered = BTreeSet::new();
    check_ignore(&Git::at(checkout), &questions, &mut covered)?;
    Ok(covered)
}

/// git refuses a whole list for one path it does not like (behind a link, inside a submodule): halves find it.
fn check_ignore(git: &Git, questions: &[Vec<u8>], covered: &mut BTreeSet<PathBuf>) -> Result<(), GitError> {
    if questions.is_empty() {
        return Ok(());
    }
    let command = git.command(["check-ignore", "-z", "--stdin"]).input(questions.join(&0));
    let output = command.capture()?;
    match output.exit {
        Exit::Code(0 | 1) => {
            let answers =
                output.stdout.split(|byte| *byte == 0).filter_map(|answer| answer.strip_prefix(b"./"));
            covered.extend(answers.map(path));
            Ok(())
        }
        Exit::Code(128) if questions.len() > 1 => {
            let (first, second) = questions.split_at(questions.len() / 2);
            check_ignore(git, first, covered)?;
            check_ignore(git, second, covered)
        }
        // It is this one path, unless nothing works here.
        Exit::Code(128) => git.run(["rev-parse", "--git-dir"]).map(drop),
        exit => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(GitError::Failed { command: command.to_string(), exit, stderr })
        }
    }
}

/// What may be put into the worktree `to` without becoming a new file there; the rest is named.
pub(super) fn select_ignored_in(
    to: &Path,
    roots: Vec<IgnoredRoot>,
    skipped: &mut Vec<(PathBuf, SkipReason)>,
) -> Result<Vec<CopyItem>, GitError> {
    let whole = find_ignored(to, roots.iter().map(|root| root.path.as_path()))?;
    let (mut allowed, mut doubtful) = (Vec::new(), Vec::new());
    for root in roots {
        let place = if whole.contains(&root.path) { &mut allowed } else { &mut doubtful };
        place.extend(root.items);
    }
    let single = find_ignored(to, doubtful.iter().map(|item| item.path.as_path()))?;
    for item in doubtful {
        if single.contains(&item.path) {
            allowed.push(item);
        } else if item.kind != EntryKind::Directory {
            let there = to.join(&item.path).symlink_metadata().is_ok();
            let reason = if there { SkipReason::Exists } else { SkipReason::NotIgnoredThere };
            skipped.push((item.path, reason));
        }
    }
    Ok(allowed)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
