//! Finding uncommitted work in a worktree.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{DifferenceKind, Git, IndexEntry};

use super::files::walk;
use super::ignored_repositories::find_ignored_repositories;
use super::manifest::ItemKind;
use super::{RescueError, bytes_path};

/// The worktree that a rescue is taken from, and git's directories for it.
#[derive(Debug)]
pub(super) struct SourceWorktree {
    pub(super) git: Git,
    /// Absolute, with symlinks resolved.
    pub(super) worktree: PathBuf,
    pub(super) admin_dir: PathBuf,
    pub(super) common_dir: PathBuf,
}

/// Work in a worktree that is in no commit.
#[derive(Debug, Default)]
pub(super) struct UncommittedWork {
    /// Files and symlinks to store, relative to the worktree.
    pub(super) files: Vec<(ItemKind, PathBuf)>,
    pub(super) directories: Vec<PathBuf>,
    pub(super) deleted: Vec<PathBuf>,
    /// Tracked files with permissions that a checkout would not restore.
    pub(super) permissions: Vec<(u32, PathBuf)>,
    /// All sides of every conflict.
    pub(super) unmerged: Vec<IndexEntry>,
    /// Git directories of submodules, relative to the worktree's admin directory.
    pub(super) module_dirs: Vec<PathBuf>,
    pub(super) ignored_left_behind: Vec<PathBuf>,
    /// The index differs from the last commit, even if no file does.
    pub(super) index_differs: bool,
}

impl UncommittedWork {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.deleted.is_empty() && self.unmerged.is_empty() && !self.index_differs
    }
}

/// Ignored files and directories of a worktree. A removal deletes them, and a rescue stores them only on request.
pub fn find_ignored(worktree: &Path) -> Result<Vec<PathBuf>, RescueError> {
    let differences = Git::at(worktree).differences()?;
    let ignored = differences.into_iter().filter(|difference| difference.kind == DifferenceKind::Ignored);
    Ok(ignored.map(|difference| difference.path).collect())
}

pub(super) fn find_uncommitted(
    source: &SourceWorktree,
    include_ignored: bool,
) -> Result<UncommittedWork, RescueError> {
    let mut uncommitted = UncommittedWork::default();
    let entries = source.git.index_entries()?;
    for difference in source.git.differences()? {
        match difference.kind {
            DifferenceKind::Tracked { staged, submodule, .. } => {
                uncommitted.index_differs |= staged;
                uncommitted.add_tracked(source, difference.path, submodule, include_ignored)?;
            }
            DifferenceKind::Unmerged => {
                uncommitted.add_tracked(source, difference.path, false, include_ignored)?;
            }
            DifferenceKind::Untracked => {
                uncommitted.add_untracked(source, difference.path, include_ignored)?;
            }
            DifferenceKind::Ignored if include_ignored => uncommitted.add_ignored(source, difference.path)?,
            DifferenceKind::Ignored => uncommitted.ignored_left_behind.push(difference.path),
        }
    }
    for nested in find_ignored_repositories(&source.worktree, &uncommitted.ignored_left_behind) {
        uncommitted.add_repository(source, &nested, false)?;
    }
    uncommitted.add_unwatched(source, &entries)?;
    uncommitted.add_submodules(source, &entries, include_ignored)?;
    if !uncommitted.is_empty() {
        uncommitted.add_permissions(source, &entries);
    }
    uncommitted.unmerged = entries.into_iter().filter(|entry| entry.stage != 0).collect();
    Ok(uncommitted)
}

impl UncommittedWork {
    fn add_tracked(
        &mut self,
        source: &SourceWorktree,
        path: PathBuf,
        submodule: bool,
        include_ignored: bool,
    ) -> Result<(), RescueError> {
        match find_file_type(&source.worktree.join(&path))? {
            Some(kind) if kind.is_file() || kind.is_symlink() => self.files.push((ItemKind::Changed, path)),
            Some(kind) if kind.is_dir() && submodule => {
                if source.worktree.join(&path).join(".git").exists() {
                    self.add_repository(source, &path, include_ignored)?;
                }
            }
            // A directory, a pipe, or nothing: the tracked file itself was deleted.
            _ => self.deleted.push(path),
        }
        Ok(())
    }

    fn add_untracked(
        &mut self,
        source: &SourceWorktree,
        path: PathBuf,
        include_ignored: bool,
    ) -> Result<(), RescueError> {
        match find_file_type(&source.worktree.join(&path))? {
            Some(kind) if kind.is_dir() => self.add_repository(source, &path, include_ignored)?,
            Some(_) => self.files.push((ItemKind::Untracked, path)),
            None => {}
        }
        Ok(())
    }

    fn add_ignored(&mut self, source: &SourceWorktree, path: PathBuf) -> Result<(), RescueError> {
        match find_file_type(&source.worktree.join(&path))? {
            Some(kind) if kind.is_dir() => self.add_all(source, &path, ItemKind::Ignored, &HashSet::new())?,
            Some(_) => self.files.push((ItemKind::Ignored, path)),
            None => {}
        }
        Ok(())
    }

    /// Adds all files of a nested repository, because git would store only a commit id.
    fn add_repository(
        &mut self,
        source: &SourceWorktree,
        path: &Path,
        include_ignored: bool,
    ) -> Result<(), RescueError> {
        let mut skipped = HashSet::new();
        if !include_ignored {
            let listing = Git::at(source.worktree.join(path))
                .plumbing(
                    None,
                    ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"],
                )
                .capture()
                .map_err(paw_host::git::GitError::from)?;
            // If git fails, nothing is skipped and the repository is stored completely.
            for name in listing.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
                skipped.insert(path.join(bytes_path(name.strip_suffix(b"/").unwrap_or(name))));
            }
        }
        self.add_all(source, path, ItemKind::Nested, &skipped)?;
        let mut skipped: Vec<PathBuf> = skipped.into_iter().collect();
        skipped.sort();
        self.ignored_left_behind.extend(skipped);
        if let Some(module) = module_dir(source, path) {
            self.module_dirs.push(module);
        }
        Ok(())
    }

    fn add_all(
        &mut self,
        source: &SourceWorktree,
        path: &Path,
        kind: ItemKind,
        skipped: &HashSet<PathBuf>,
    ) -> Result<(), RescueError> {
        let walked = walk(&source.worktree, path, skipped)?;
        self.files.extend(walked.files.into_iter().map(|file| (kind, file)));
        self.directories.extend(walked.directories);
        Ok(())
    }

    /// Adds changed files that are marked assume-unchanged or skip-worktree.
    fn add_unwatched(&mut self, source: &SourceWorktree, entries: &[IndexEntry]) -> Result<(), RescueError> {
        let mut suspects = Vec::new();
        for entry in
            entries.iter().filter(|entry| entry.unwatched && entry.stage == 0 && !entry.is_submodule())
        {
            match find_file_type(&source.worktree.join(&entry.path))? {
                Some(kind) if kind.is_file() && entry.mode != "120000" => suspects.push(entry),
                Some(kind) if kind.is_symlink() && entry.mode == "120000" => {}
                Some(kind) if kind.is_dir() => {}
                Some(_) => self.files.push((ItemKind::Changed, entry.path.clone())),
                None => {}
            }
        }
        let paths: Vec<PathBuf> = suspects.iter().map(|entry| entry.path.clone()).collect();
        for (entry, oid) in suspects.iter().zip(source.git.filtered_oids(&paths)?) {
            if entry.oid != oid {
                self.files.push((ItemKind::Changed, entry.path.clone()));
            }
        }
        Ok(())
    }

    /// Git stores only the executable bit; a private file must not be restored as world-readable.
    fn add_permissions(&mut self, source: &SourceWorktree, entries: &[IndexEntry]) {
        const USUAL: [u32; 4] = [0o644, 0o755, 0o664, 0o775];
        for entry in entries.iter().filter(|entry| entry.mode.starts_with("100")) {
            let Ok(metadata) = fs::symlink_metadata(source.worktree.join(&entry.path)) else { continue };
            if metadata.is_file() && !USUAL.contains(&(metadata.mode() & 0o7777)) {
                self.permissions.push((metadata.mode(), entry.path.clone()));
            }
        }
    }

    /// Adds clean submodules that contain commits which exist nowhere else.
    fn add_submodules(
        &mut self,
        source: &SourceWorktree,
        entries: &[IndexEntry],
        include_ignored: bool,
    ) -> Result<(), RescueError> {
        for entry in entries.iter().filter(|entry| entry.is_submodule()) {
            let known = self.directories.contains(&entry.path);
            if !known && submodule_has_own_commits(source, &entry.path)? {
                self.add_repository(source, &entry.path, include_ignored)?;
            }
        }
        Ok(())
    }
}

fn find_file_type(path: &Path) -> Result<Option<fs::FileType>, RescueError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(RescueError::io("look at", path)(error)),
    }
}

/// The git directory of a submodule, if it is inside the worktree's admin directory and is deleted with it.
fn module_dir(source: &SourceWorktree, path: &Path) -> Option<PathBuf> {
    let dir = git_dir(&source.worktree.join(path))?;
    Some(dir.strip_prefix(&source.admin_dir).ok()?.to_path_buf())
        .filter(|_| source.admin_dir != source.common_dir)
}

/// The git directory of a checkout: its `.git` directory, or the target of its `.git` file.
pub(super) fn git_dir(checkout: &Path) -> Option<PathBuf> {
    let dot_git = checkout.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let text = fs::read(&dot_git).ok()?;
    let target = text.strip_prefix(b"gitdir: ")?;
    let end = target.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    checkout.join(std::ffi::OsStr::from_bytes(&target[..end])).canonicalize().ok()
}

/// Whether a submodule, or one nested in it, has commits that neither its remote nor the main checkout's clone has.
fn submodule_has_own_commits(source: &SourceWorktree, path: &Path) -> Result<bool, RescueError> {
    let checkout = source.worktree.join(path);
    let Some(dir) = git_dir(&checkout) else { return Ok(false) };
    let deleted_too = dir.starts_with(&source.worktree) || dir.starts_with(&source.admin_dir);
    let git = Git::at(&checkout);
    if deleted_too && source.admin_dir != source.common_dir && holds_own_commits(&git, &dir, source)? {
        return Ok(true);
    }
    for entry in git.index_entries()?.iter().filter(|entry| entry.is_submodule()) {
        if submodule_has_own_commits(source, &path.join(&entry.path))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_own_commits(git: &Git, dir: &Path, source: &SourceWorktree) -> Result<bool, RescueError> {
    let head = git.find_object("HEAD", "commit")?;
    let own = ["--branches", "--glob=refs/stash", "--not", "--remotes"].map(str::to_owned);
    let args = ["rev-list", "--parents"].map(str::to_owned).into_iter().chain(head).chain(own);
    let own = git.line(args)?;
    if own.is_empty() {
        return Ok(false);
    }
    // The main checkout has its own clone of every submodule it uses.
    let Ok(name) = dir.strip_prefix(&source.admin_dir) else { return Ok(true) };
    let counterpart = source.common_dir.join(name);
    if !counterpart.is_dir() {
        return Ok(true);
    }
    let tips = super::unreachable::find_tips(&own);
    let args = ["rev-list".to_owned(), "--max-count=1".to_owned()];
    let args = args.into_iter().chain(tips).chain(["--not", "--all"].map(str::to_owned));
    let kept = Git::at(&counterpart).command(args).env("GIT_DIR", &counterpart).capture();
    Ok(!kept.is_ok_and(|output| output.exit.success() && output.stdout.is_empty()))
}
