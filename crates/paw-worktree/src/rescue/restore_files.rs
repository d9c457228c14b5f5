//! Restoring files of a rescue into an existing directory, without overwriting changes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use paw_host::git::{DifferenceKind, Git, GitError, Repo, TreeEntry};

use super::RescueError;
use super::allowed_paths::{find_alias, is_tracked_path};
use super::branch::restore_branch;
use super::files::{self, Content};
use super::list::StoredRescue;
use super::load::{for_each_blob, load_items};
use super::manifest::{FORBIDDEN_PATH, ItemKind, ManifestItem};
use super::restore::{RestoreOptions, RestoredRescue};
use super::uncommitted::git_dir;

pub(super) fn restore(
    repo: &Repo,
    stored: StoredRescue,
    dir: &Path,
    options: RestoreOptions<'_>,
) -> Result<RestoredRescue, RescueError> {
    let items = load_items(repo, &stored)?;
    let dir = dir.canonicalize().map_err(RescueError::io("find", dir))?;
    let files = write_files(repo, &stored, &dir, &items, options)?;
    let branch = restore_branch(&repo.git(), &stored.header, None)?;
    Ok(RestoredRescue { rescue: stored.rescue, dir, branch, files })
}

/// Whether the item is a file of the worktree, with content.
pub(super) fn is_file(item: &ManifestItem) -> bool {
    matches!(item.kind, ItemKind::Changed | ItemKind::Untracked | ItemKind::Nested | ItemKind::Ignored)
}

pub(super) fn write_files(
    repo: &Repo,
    stored: &StoredRescue,
    dir: &Path,
    items: &[ManifestItem],
    options: RestoreOptions<'_>,
) -> Result<Vec<PathBuf>, RescueError> {
    if find_alias(dir, items).is_some() {
        return Err(stored.unreadable(FORBIDDEN_PATH));
    }
    let git = repo.git();
    let wanted =
        |path: &Path| options.paths.is_empty() || options.paths.iter().any(|only| path.starts_with(only));
    let files: Vec<&ManifestItem> = items.iter().filter(|item| is_file(item) && wanted(&item.path)).collect();
    let of = |kind| items.iter().filter(move |item| item.kind == kind && wanted(&item.path));
    let (deleted, directories): (Vec<_>, Vec<_>) =
        (of(ItemKind::Deleted).collect(), of(ItemKind::Directory).collect());
    let committed =
        if options.paths.is_empty() { Vec::new() } else { committed(&git, stored, items, &wanted)? };
    let staged: Vec<StagedChange> =
        load_staged(&git, stored)?.into_iter().filter(|change| wanted(&change.path)).collect();
    require_known_paths(stored, options.paths, |only| {
        let below = |path: &Path| path.starts_with(only);
        items.iter().any(|item| (is_file(item) || item.kind == ItemKind::Deleted) && below(&item.path))
            || committed.iter().any(|entry| below(&entry.path))
    })?;

    let target = Target::load(repo, dir)?;
    if !options.force {
        let mut blocked: Vec<PathBuf> = deleted
            .iter()
            .filter(|item| {
                fs::symlink_metadata(dir.join(&item.path)).is_ok() && !target.is_unchanged(&item.path)
            })
            .map(|item| item.path.clone())
            .collect();
        for_each_blob(&git, &files, |item, bytes| {
            blocked.extend(target.find_blocker(&item.path, &Content::of(item, bytes)));
            Ok(())
        })?;
        for entry in &committed {
            let bytes = filtered(&target.git, entry)?;
            blocked.extend(target.find_blocker(&entry.path, &content(entry, &bytes)));
        }
        blocked.extend(
            staged.iter().filter(|change| target.is_staged_differently(change)).map(|c| c.path.clone()),
        );
        blocked.sort();
        blocked.dedup();
        if !blocked.is_empty() {
            return Err(RescueError::WouldOverwrite { dir: dir.to_path_buf(), paths: blocked });
        }
    }

    let mut done = Vec::new();
    for item in deleted {
        files::delete(dir, &item.path)?;
        done.push(item.path.clone());
    }
    for item in directories {
        files::create_dir(dir, &item.path)?;
    }
    for_each_blob(&git, &files, |item, bytes| {
        done.push(item.path.clone());
        files::write(dir, &item.path, &Content::of(item, bytes))
    })?;
    for entry in &committed {
        let bytes = filtered(&target.git, entry)?;
        done.push(entry.path.clone());
        files::write(dir, &entry.path, &content(entry, &bytes))?;
    }
    target.stage(&staged)?;
    done.sort();
    Ok(done)
}

fn require_known_paths(
    stored: &StoredRescue,
    paths: &[PathBuf],
    is_known: impl Fn(&Path) -> bool,
) -> Result<(), RescueError> {
    let unknown: Vec<PathBuf> = paths.iter().filter(|path| !is_known(path)).cloned().collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(RescueError::NoSuchPath { id: stored.rescue.id.clone(), paths: unknown })
    }
}

/// Requested files that were unchanged in the worktree, from the commit.
fn committed(
    git: &Git,
    stored: &StoredRescue,
    items: &[ManifestItem],
    wanted: &impl Fn(&Path) -> bool,
) -> Result<Vec<TreeEntry>, RescueError> {
    let known: HashSet<&Path> = items.iter().map(|item| item.path.as_path()).collect();
    let shown: HashSet<PathBuf> =
        items.iter().map(|item| super::manifest::tree_path(&item.path, item.is_symlink())).collect();
    let entries = git.tree_entries(&stored.rescue.commit)?.into_iter();
    Ok(entries
        .filter(|entry| wanted(&entry.path) && entry.mode != "160000" && is_tracked_path(&entry.path))
        .filter(|entry| !known.contains(entry.path.as_path()) && !shown.contains(&entry.path))
        .collect())
}

/// A committed file as a checkout would write it.
fn filtered(git: &Git, entry: &TreeEntry) -> Result<Vec<u8>, GitError> {
    if entry.mode == "120000" {
        return git.run(["cat-file", "blob", &entry.oid]);
    }
    git.smudged(&entry.path, &entry.oid)
}

fn content<'a>(entry: &TreeEntry, bytes: &'a [u8]) -> Content<'a> {
    match entry.mode.as_str() {
        "120000" => Content::Link { target: bytes },
        "100755" => Content::File { bytes, permissions: 0o755 },
        _ => Content::File { bytes, permissions: 0o644 },
    }
}

/// A difference between the last commit and the index.
struct StagedChange {
    path: PathBuf,
    /// Mode and blob. None if the file was deleted.
    entry: Option<(String, String)>,
}

fn load_staged(git: &Git, stored: &StoredRescue) -> Result<Vec<StagedChange>, RescueError> {
    let Some(tree) = &stored.header.index_tree else { return Ok(Vec::new()) };
    let Some(head) = &stored.header.head else {
        let entries = git.tree_entries(tree)?.into_iter();
        return Ok(entries
            .map(|entry| StagedChange { path: entry.path, entry: Some((entry.mode, entry.oid)) })
            .collect());
    };
    let listing = git.plumb(None, ["diff-tree", "-r", "-z", "--no-renames", "--full-index", head, tree])?;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
        let change = String::from_utf8_lossy(change).into_owned();
        let parts: Vec<&str> = change.split(' ').collect();
        if let [_, mode, _, oid, letter] = parts.as_slice() {
            let entry = (*letter != "D").then(|| ((*mode).to_owned(), (*oid).to_owned()));
            changes.push(StagedChange { path: super::bytes_path(path), entry });
        }
    }
    let conflicted = load_conflicted(git, stored)?;
    changes.retain(|change| !conflicted.contains(&change.path));
    Ok(changes)
}

/// Paths with unresolved conflicts, which the tree of the index does not contain.
pub(super) fn load_conflicted(git: &Git, stored: &StoredRescue) -> Result<HashSet<PathBuf>, RescueError> {
    let Some(state) = &stored.header.state else { return Ok(HashSet::new()) };
    let below_side =
        |path: &Path| Some(path.strip_prefix("conflict").ok()?.iter().skip(1).collect::<PathBuf>());
    Ok(git.tree_entries(state)?.iter().filter_map(|entry| below_side(&entry.path)).collect())
}

/// The target directory and its git state.
struct Target {
    dir: PathBuf,
    git: Git,
    /// Present if it is a worktree of the same repository.
    tracked: Option<Tracked>,
}

struct Tracked {
    index: PathBuf,
    entries: HashMap<PathBuf, (String, String)>,
    changed: HashSet<PathBuf>,
    staged: HashSet<PathBuf>,
}

impl Target {
    fn load(repo: &Repo, dir: &Path) -> Result<Self, RescueError> {
        let git = Git::at(dir);
        let owner = Repo::discover(dir).ok();
        let is_ours = owner.is_some_and(|owner| {
            owner.common_dir == repo.common_dir && owner.worktree.is_some_and(|top| top == dir)
        });
        let admin_dir = git_dir(dir).filter(|_| is_ours);
        let tracked = match admin_dir {
            None => None,
            Some(admin_dir) => {
                let differences = git.differences()?;
                let staged = |kind| !matches!(kind, DifferenceKind::Tracked { staged: false, .. });
                let entries = git.index_entries()?.into_iter();
                Some(Tracked {
                    index: admin_dir.join("index"),
                    entries: entries.map(|entry| (entry.path, (entry.mode, entry.oid))).collect(),
                    staged: differences.iter().filter(|d| staged(d.kind)).map(|d| d.path.clone()).collect(),
                    changed: differences.into_iter().map(|difference| difference.path).collect(),
                })
            }
        };
        Ok(Self { dir: dir.to_path_buf(), git, tracked })
    }

    /// Whether the file is tracked and unchanged, so that git could restore it.
    fn is_unchanged(&self, path: &Path) -> bool {
        let unchanged = |known: &Tracked| known.entries.contains_key(path) && !known.changed.contains(path);
        self.tracked.as_ref().is_some_and(unchanged)
    }

    /// The changed path that writing there would overwrite, if any.
    fn find_blocker(&self, path: &Path, content: &Content<'_>) -> Option<PathBuf> {
        if let Some(above) = files::find_obstacle(&self.dir, path) {
            return Some(above).filter(|above| !self.is_unchanged(above));
        }
        let absolute = self.dir.join(path);
        let harmless =
            fs::symlink_metadata(&absolute).is_err() || content.is_at(&absolute) || self.is_unchanged(path);
        (!harmless).then(|| path.to_path_buf())
    }

    fn is_staged_differently(&self, change: &StagedChange) -> bool {
        self.tracked.as_ref().is_some_and(|known| {
            known.staged.contains(&change.path) && known.entries.get(&change.path) != change.entry.as_ref()
        })
    }

    fn stage(&self, changes: &[StagedChange]) -> Result<(), RescueError> {
        let Some(known) = &self.tracked else { return Ok(()) };
        let removed: Vec<PathBuf> = changes
            .iter()
            .filter(|change| change.entry.is_none())
            .map(|change| change.path.clone())
            .collect();
        let added: Vec<TreeEntry> = changes
            .iter()
            .filter_map(|change| {
                let (mode, oid) = change.entry.clone()?;
                Some(TreeEntry { mode, oid, path: change.path.clone() })
            })
            .collect();
        self.git.edit_index(&known.index, &removed, &added)?;
        let _ =
            self.git.plumbing(None, ["update-index", "-q", "--refresh"]).capture().map_err(GitError::from)?;
        Ok(())
    }
}
