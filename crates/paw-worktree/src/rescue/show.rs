//! The contents of a rescue, as text and as data.

use std::collections::HashMap;
use std::path::PathBuf;

use paw_core::text;
use paw_host::git::{Git, GitError, Repo};
use serde::Serialize;

use super::list::{StoredRescue, require_stored};
use super::load::load_items;
use super::manifest::{ItemKind, ManifestItem, tree_path};
use super::restore_files::load_conflicted;
use super::{Rescue, RescueError, bytes_path};

/// A rescue and its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RescueContents {
    pub rescue: Rescue,
    /// Commits that no branch, tag or remote contains now, newest first.
    pub commits: Vec<RescuedCommit>,
    pub files: Vec<RescuedFile>,
    /// The contents as text: one line per file, ordered by kind.
    pub summary: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RescuedCommit {
    pub id: String,
    pub subject: String,
}

/// A file. A path that was staged and then changed again is listed twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RescuedFile {
    #[serde(serialize_with = "super::lossy")]
    pub path: PathBuf,
    pub kind: RescuedFileKind,
    pub deleted: bool,
    /// Lines added and removed. None for a binary file.
    pub lines: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RescuedFileKind {
    /// Changed by one of the commits listed.
    Committed,
    Staged,
    Conflicted,
    Unstaged,
    Untracked,
    /// In a nested repository.
    Nested,
    Ignored,
}

impl RescuedFileKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Staged => "staged",
            Self::Conflicted => "conflicted",
            Self::Unstaged => "unstaged",
            Self::Untracked => "untracked",
            Self::Nested => "nested",
            Self::Ignored => "ignored",
        }
    }
}

pub fn show(repo: &Repo, id: &str) -> Result<RescueContents, RescueError> {
    let stored = require_stored(repo, id)?;
    let git = repo.git();
    let items = load_items(repo, &stored)?;
    let (commits, mut files) = committed(&git, &stored)?;
    files.extend(uncommitted(&git, &stored, &items)?);
    files.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    let summary = summary(&commits, &files, &stored.rescue.ignored_left_behind);
    Ok(RescueContents { rescue: stored.rescue, commits, files, summary })
}

/// The commits that only the rescue contains, and the files they changed.
fn committed(
    git: &Git,
    stored: &StoredRescue,
) -> Result<(Vec<RescuedCommit>, Vec<RescuedFile>), RescueError> {
    let Some(tip) = stored.header.tip.as_ref().or(stored.header.head.as_ref()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let others = ["--not", "--branches", "--tags", "--remotes"];
    let listing = git.run(["log", "-z", "--no-color", "--format=%H %s", tip].into_iter().chain(others))?;
    let commits: Vec<RescuedCommit> = listing
        .split(|byte| *byte == 0)
        .map(|record| String::from_utf8_lossy(record).trim_end().to_owned())
        .filter_map(|record| {
            let (id, subject) = record.split_once(' ').unwrap_or((&record, ""));
            (!id.is_empty()).then(|| RescuedCommit { id: id.to_owned(), subject: subject.to_owned() })
        })
        .collect();
    let Some(oldest) = commits.last() else { return Ok((commits, Vec::new())) };
    let base = git.find_object(&format!("{}^1", oldest.id), "tree")?;
    let from = base.map_or_else(|| empty_tree(git), Ok)?;
    let files = changed_lines(git, &from, tip)?
        .into_iter()
        .map(|(path, change)| RescuedFile {
            path,
            kind: RescuedFileKind::Committed,
            deleted: change.deleted,
            lines: change.lines,
        })
        .collect();
    Ok((commits, files))
}

fn uncommitted(
    git: &Git,
    stored: &StoredRescue,
    items: &[ManifestItem],
) -> Result<Vec<RescuedFile>, RescueError> {
    let Some(index_tree) = &stored.header.index_tree else { return Ok(Vec::new()) };
    let conflicted = load_conflicted(git, stored)?;
    let head = match &stored.header.head {
        Some(head) => head.clone(),
        None => empty_tree(git)?,
    };
    let mut files = Vec::new();
    for (path, change) in changed_lines(git, &head, index_tree)? {
        if !conflicted.contains(&path) {
            files.push(RescuedFile {
                path,
                kind: RescuedFileKind::Staged,
                deleted: change.deleted,
                lines: change.lines,
            });
        }
    }
    let on_disk = changed_lines(git, index_tree, &stored.rescue.commit)?;
    for item in items {
        let kind = match item.kind {
            ItemKind::Changed | ItemKind::Deleted if conflicted.contains(&item.path) => {
                RescuedFileKind::Conflicted
            }
            ItemKind::Changed | ItemKind::Deleted => RescuedFileKind::Unstaged,
            ItemKind::Untracked => RescuedFileKind::Untracked,
            ItemKind::Nested => RescuedFileKind::Nested,
            ItemKind::Ignored => RescuedFileKind::Ignored,
            ItemKind::Admin | ItemKind::AdminDirectory | ItemKind::Directory | ItemKind::Permissions => {
                continue;
            }
        };
        let change = on_disk.get(&tree_path(&item.path, item.is_symlink()));
        // A file that was only staged is stored too, but is already listed as staged.
        if change.is_none() && kind == RescuedFileKind::Unstaged {
            continue;
        }
        files.push(RescuedFile {
            path: item.path.clone(),
            kind,
            deleted: item.kind == ItemKind::Deleted,
            lines: change.map_or(Some((0, 0)), |change| change.lines),
        });
    }
    Ok(files)
}

struct Change {
    deleted: bool,
    lines: Option<(u64, u64)>,
}

fn changed_lines(git: &Git, from: &str, to: &str) -> Result<HashMap<PathBuf, Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
    let counts = git.plumb(None, args.into_iter().chain(["--numstat", from, to]))?;
    let gone = git.plumb(None, args.into_iter().chain(["--name-only", "--diff-filter=D", from, to]))?;
    let gone: std::collections::HashSet<PathBuf> = gone.split(|byte| *byte == 0).map(bytes_path).collect();
    let counted = counts.split(|byte| *byte == 0).filter_map(|record| {
        let mut fields = record.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok();
        let (added, removed) = (number(), number());
        let path = bytes_path(fields.next()?);
        Some((path.clone(), Change { deleted: gone.contains(&path), lines: added.zip(removed) }))
    });
    Ok(counted.collect())
}

fn empty_tree(git: &Git) -> Result<String, GitError> {
    let nothing: &[u8] = b"";
    let output = git.plumbing(None, ["mktree"]).input(nothing).capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn summary(commits: &[RescuedCommit], files: &[RescuedFile], left_behind: &[PathBuf]) -> String {
    let mut lines = Vec::new();
    for commit in commits {
        let id = text::short_commit(&commit.id);
        lines.push(format!("commit      {id} {}", text::line(&commit.subject)));
    }
    for file in files {
        let change = match (file.deleted, file.lines) {
            (true, _) => "deleted".to_owned(),
            (false, Some((added, removed))) => format!("+{added} -{removed}"),
            (false, None) => "binary".to_owned(),
        };
        lines.push(format!("{:<11} {} ({change})", file.kind.as_str(), text::path(&file.path)));
    }
    lines.extend(left_behind.iter().map(|path| format!("not stored  {} (ignored)", text::path(path))));
    lines.join("\n")
}
