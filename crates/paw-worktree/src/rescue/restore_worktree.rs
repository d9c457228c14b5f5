//! Restoring a rescue as a new worktree, exactly as it was.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use paw_host::files::{Access, write_atomic};
use paw_host::git::{Git, GitError, Repo};
use paw_host::locks::WorktreesLock;

use super::allowed_paths::{find_alias, is_tracked_path};
use super::branch::{BranchOutcome, restore_branch};
use super::files::{self, Content};
use super::header::{Header, PathText};
use super::list::StoredRescue;
use super::load::{for_each_blob, load_items};
use super::manifest::{FORBIDDEN_PATH, ItemKind, ManifestItem};
use super::restore::{RestoreOptions, RestoredRescue};
use super::uncommitted::git_dir;
use super::{RescueError, bytes_path, restore_files};
use crate::error::WorktreeError;

pub(super) fn restore(
    repo: &Repo,
    stored: StoredRescue,
    dir: &Path,
    options: RestoreOptions<'_>,
    on_linked: &mut dyn FnMut(&Path) -> Result<(), WorktreeError>,
) -> Result<RestoredRescue, WorktreeError> {
    let git = repo.git();
    let items = load_items(repo, &stored)?;
    let branch = restore_branch(&git, &stored.header, None)?;
    let start = stored.header.head.as_ref().unwrap_or(&stored.rescue.commit);
    git.add_detached_worktree(dir, start, &["--no-checkout"], &WorktreesLock::wait(&repo.common_dir)?)?;
    let linked = git_dir(dir).map_or(Ok(()), |admin_dir| on_linked(&admin_dir));
    let populated = linked.and_then(|()| Ok(populate(repo, &stored, dir, &items, &branch, options)?));
    if populated.is_err()
        && let Ok(lock) = WorktreesLock::wait(&repo.common_dir)
    {
        // An incomplete worktree would look like a complete one. The rescue still has everything.
        let _ = git.remove_worktree(dir, &lock);
    }
    let files = populated?;
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    Ok(RestoredRescue { rescue: stored.rescue, dir, branch, files })
}

fn populate(
    repo: &Repo,
    stored: &StoredRescue,
    dir: &Path,
    items: &[ManifestItem],
    branch: &BranchOutcome,
    options: RestoreOptions<'_>,
) -> Result<Vec<PathBuf>, RescueError> {
    let dir = &dir.canonicalize().map_err(RescueError::io("find", dir))?;
    let git = Git::at(dir);
    let admin_dir = git_dir(dir).ok_or_else(|| RescueError::NoTarget(dir.clone()))?;
    if let Some(branch) = branch.usable().filter(|_| stored.header.on_branch || items.is_empty()) {
        git.plumb(None, ["symbolic-ref", "HEAD", &branch.full_ref()])?;
    }
    if !options.paths.is_empty() {
        git.plumb(None, ["reset", "--hard", "--quiet"])?;
        return restore_files::write_files(repo, stored, dir, items, options);
    }
    if items.is_empty() {
        git.plumb(None, ["reset", "--hard", "--quiet"])?;
        return Ok(Vec::new());
    }
    if find_alias(dir, items).is_some() {
        return Err(stored.unreadable(FORBIDDEN_PATH));
    }
    restore_admin_files(&git, &admin_dir, items)?;
    check_out_unchanged(&git, dir, (stored, items))?;
    let files = restore_work_files(&git, dir, items)?;
    relink_modules(dir, &admin_dir, &stored.header, items)?;
    // A nonzero exit code only means that there are changes.
    let _ = git.plumbing(None, ["update-index", "-q", "--refresh"]).capture().map_err(GitError::from)?;
    Ok(files)
}

/// Checks out files that are not in the rescue because they match the index.
fn check_out_unchanged(
    git: &Git,
    dir: &Path,
    (stored, items): (&StoredRescue, &[ManifestItem]),
) -> Result<(), RescueError> {
    let held: HashSet<&Path> = items
        .iter()
        .filter(|item| restore_files::is_file(item) || item.kind == ItemKind::Deleted)
        .map(|item| item.path.as_path())
        .collect();
    let mut entries = git.index_entries()?;
    // git checks a path when it adds it to an index, and not when it checks it out.
    if !entries.iter().all(|entry| is_tracked_path(&entry.path)) {
        return Err(stored.unreadable(FORBIDDEN_PATH));
    }
    entries.retain(|entry| entry.stage == 0 && !entry.skipped && !held.contains(entry.path.as_path()));
    let names: Vec<&[u8]> = entries.iter().map(|entry| entry.path.as_os_str().as_bytes()).collect();
    let check_out = git.plumbing(None, ["checkout-index", "--force", "--quiet", "-z", "--stdin"]);
    let done = check_out.input(names.join(&0)).capture().map_err(GitError::from)?;
    if done.exit.success() {
        return Ok(());
    }
    // If a filter cannot run, write its files unfiltered instead of failing.
    tracing::warn!("{}", String::from_utf8_lossy(&done.stderr).trim());
    let missing: Vec<ManifestItem> = entries
        .into_iter()
        .filter(|entry| !entry.is_submodule() && fs::symlink_metadata(dir.join(&entry.path)).is_err())
        .map(|entry| ManifestItem {
            kind: ItemKind::Changed,
            mode: u32::from_str_radix(&entry.mode, 8).unwrap_or(0o100_644),
            oid: entry.oid,
            path: entry.path,
        })
        .collect();
    let missing: Vec<&ManifestItem> = missing.iter().collect();
    for_each_blob(git, &missing, |item, bytes| files::write(dir, &item.path, &Content::of(item, bytes)))
}

/// Restores the index, an operation in progress, and the git directories of submodules.
fn restore_admin_files(git: &Git, admin_dir: &Path, items: &[ManifestItem]) -> Result<(), RescueError> {
    for item in items.iter().filter(|item| item.kind == ItemKind::AdminDirectory) {
        files::create_dir(admin_dir, &item.path)?;
    }
    let restorable = |item: &&ManifestItem| item.kind == ItemKind::Admin && !is_location_specific(&item.path);
    let admin: Vec<&ManifestItem> = items.iter().filter(restorable).collect();
    for_each_blob(git, &admin, |item, bytes| {
        if item.path == Path::new("config.worktree") {
            restore_worktree_config(git, bytes)
        } else {
            files::write(admin_dir, &item.path, &Content::of(item, bytes))
        }
    })
}

/// Files that depend on the worktree's path or HEAD; git recreates them.
fn is_location_specific(path: &Path) -> bool {
    ["HEAD", "gitdir", "commondir", "locked", "logs", "refs", "reftable"]
        .iter()
        .any(|name| path.iter().next().is_some_and(|first| first.eq_ignore_ascii_case(name)))
}

/// Restores the worktree's own configuration, such as a sparse checkout, except for settings with its old path.
fn restore_worktree_config(git: &Git, bytes: &[u8]) -> Result<(), RescueError> {
    if git.find(["config", "--type=bool", "--get", "extensions.worktreeConfig"])?.as_deref() != Some("true") {
        return Ok(());
    }
    let listing =
        git.command(["config", "-f", "-", "-z", "--list"]).input(bytes).capture().map_err(GitError::from)?;
    for setting in listing.stdout.split(|byte| *byte == 0).filter(|setting| !setting.is_empty()) {
        let setting = String::from_utf8_lossy(setting);
        let (key, value) = setting.split_once('\n').unwrap_or((&setting, "true"));
        if !matches!(key, "core.worktree" | "core.bare") {
            git.run(["config", "--worktree", key, value])?;
        }
    }
    Ok(())
}

fn restore_work_files(git: &Git, dir: &Path, items: &[ManifestItem]) -> Result<Vec<PathBuf>, RescueError> {
    let of = |kind: ItemKind| items.iter().filter(move |item| item.kind == kind);
    let mut done = Vec::new();
    for item in of(ItemKind::Deleted) {
        files::delete(dir, &item.path)?;
        done.push(item.path.clone());
    }
    for item in of(ItemKind::Directory) {
        files::create_dir(dir, &item.path)?;
    }
    let files: Vec<&ManifestItem> = items.iter().filter(|item| restore_files::is_file(item)).collect();
    for_each_blob(git, &files, |item, bytes| {
        done.push(item.path.clone());
        files::write(dir, &item.path, &Content::of(item, bytes))
    })?;
    for item in of(ItemKind::Directory).chain(of(ItemKind::Permissions)) {
        let path = dir.join(&item.path);
        if files::find_obstacle(dir, &item.path).is_some()
            || fs::symlink_metadata(&path).map_or(true, |metadata| metadata.is_symlink())
        {
            continue;
        }
        fs::set_permissions(&path, Permissions::from_mode(item.permissions()))
            .map_err(RescueError::io("set permissions of", &path))?;
    }
    done.sort();
    Ok(done)
}

/// A submodule's checkout and its git directory refer to each other by path, and both have moved.
fn relink_modules(
    dir: &Path,
    admin_dir: &Path,
    header: &Header,
    items: &[ManifestItem],
) -> Result<(), RescueError> {
    let (Some(PathText(old_dir)), Some(PathText(old_admin))) = (&header.worktree, &header.admin_dir) else {
        return Ok(());
    };
    let is_link = |item: &&ManifestItem| {
        item.kind == ItemKind::Nested && item.path.ends_with(".git") && item.mode & 0o170_000 == 0o100_000
    };
    for item in items.iter().filter(is_link) {
        let Some(checkout) = item.path.parent() else { continue };
        let text = fs::read(dir.join(&item.path)).map_err(RescueError::io("read", &item.path))?;
        let Some(target) = text.strip_prefix(b"gitdir: ") else { continue };
        let target = resolve_lexically(&old_dir.join(checkout), &bytes_path(target.trim_ascii_end()));
        let Ok(module) = target.strip_prefix(old_admin) else { continue };
        if files::find_obstacle(admin_dir, &module.join("config")).is_some() {
            continue;
        }
        link_module(&dir.join(checkout), &admin_dir.join(module))?;
    }
    Ok(())
}

pub(super) fn link_module(checkout: &Path, module: &Path) -> Result<(), RescueError> {
    let config = module.join("config");
    let set = ["config", "-f"].map(std::ffi::OsString::from);
    // Run outside the repository: git fails where core.worktree still has the old path.
    Git::at("/").run(set.into_iter().chain([config.into(), "core.worktree".into(), checkout.into()]))?;
    let text = [b"gitdir: ", module.as_os_str().as_bytes(), b"\n"].concat();
    let dot_git = checkout.join(".git");
    write_atomic(&dot_git, &text, Access::Usual)
        .map_err(|error| RescueError::io("write", &dot_git)(error.source))
}

/// Resolves a path relative to a directory that no longer exists.
pub(super) fn resolve_lexically(from: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in from.join(path).components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}
