//! Storing a rescue: objects first, then the ref, then both on the disk.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::clock;
use paw_host::git::{Git, GitError, IndexEntry, NewCommit, Repo, TreeEntry, sync_repository};
use tempfile::TempDir;

use super::files::walk;
use super::header::{Header, PathText};
use super::id::{PREFIX, new_id};
use super::list::SameRescue;
use super::manifest::{self, ItemKind, ManifestItem, OPERATION_FILES, tree_path};
use super::uncommitted::{SourceWorktree, UncommittedWork, find_uncommitted};
use super::unreachable::{becomes_unreachable, find_worktree_only_commits};
use super::{Rescue, RescueError, RescueKind, RescueRequest, files, list};

/// Stores everything that removing this worktree, and its branch if requested, would destroy. Returns None if nothing
/// would be lost: no changes, no untracked files, and every commit is on another branch, a tag or a remote, or merged
/// into the default branch.
pub fn store_if_needed(request: &RescueRequest<'_>) -> Result<Option<Rescue>, RescueError> {
    let source = load_source(request.repo, request.worktree)?;
    let head = source.git.find_object("HEAD", "commit")?;
    let current = source.git.find_current_branch()?;
    let branch = request.branch.cloned().or_else(|| current.clone());
    let tip = match &branch {
        Some(branch) => source.git.find_tip(branch)?,
        None => None,
    };
    let uncommitted = find_uncommitted(&source, request.include_ignored)?;
    let deleted_branch = branch.as_ref().filter(|_| request.delete_branch);
    if uncommitted.is_empty()
        && !any_commit_becomes_unreachable(&source.git, head.as_deref(), tip.as_deref(), deleted_branch)?
    {
        return Ok(None);
    }
    let mut header = Header::new(RescueKind::Worktree, request.reason, clock::now());
    header.on_branch = current.is_some() && current == branch;
    header.branch = branch;
    header.worktree = Some(PathText(source.worktree.clone()));
    header.admin_dir = Some(PathText(source.admin_dir.clone()));
    header.head = head;
    header.tip = tip;
    header.ignored_left_behind = uncommitted.ignored_left_behind.iter().cloned().map(PathText).collect();
    RescueBuilder::new(&source)?.store(&uncommitted, header).map(Some)
}

/// Stores the tip of a branch before it is rebased or deleted.
pub fn store_tip(repo: &Repo, branch: &BranchName, reason: &str) -> Result<Rescue, RescueError> {
    let tip = repo.git().find_tip(branch)?.ok_or_else(|| RescueError::NoBranch(branch.to_string()))?;
    store_commit(repo, branch, &tip, reason)
}

/// Stores a commit that was made for a branch and that no ref points to.
pub fn store_commit(
    repo: &Repo,
    branch: &BranchName,
    commit: &str,
    reason: &str,
) -> Result<Rescue, RescueError> {
    let (git, tip) = (repo.git(), commit.to_owned());
    let tree = git.line(["rev-parse", &format!("{tip}^{{tree}}")])?;
    let mut header = Header::new(RescueKind::Tip, reason, clock::now());
    header.branch = Some(branch.clone());
    header.head = Some(tip.clone());
    header.tip = Some(tip.clone());
    publish(&git, &repo.common_dir, header, &tree, &[tip])
}

pub(super) fn load_source(repo: &Repo, worktree: &Path) -> Result<SourceWorktree, RescueError> {
    let worktree = worktree.canonicalize().map_err(RescueError::io("find", worktree))?;
    let git = Git::at(&worktree);
    let admin_dir = git.plumb(None, ["rev-parse", "--absolute-git-dir"])?;
    let admin_dir = super::bytes_path(admin_dir.strip_suffix(b"\n").unwrap_or(&admin_dir));
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    Ok(SourceWorktree {
        git,
        worktree,
        admin_dir: real(admin_dir),
        common_dir: real(repo.common_dir.clone()),
    })
}

fn any_commit_becomes_unreachable(
    git: &Git,
    head: Option<&str>,
    tip: Option<&str>,
    deleted_branch: Option<&BranchName>,
) -> Result<bool, GitError> {
    let tip = tip.filter(|_| deleted_branch.is_some());
    for commit in head.into_iter().chain(tip.filter(|tip| Some(*tip) != head)) {
        if becomes_unreachable(git, commit, deleted_branch)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Creates the rescue's commit and its ref, and waits until both are on the disk with everything they refer to.
fn publish(
    git: &Git,
    common_dir: &Path,
    header: Header,
    tree: &str,
    parents: &[String],
) -> Result<Rescue, RescueError> {
    let message = header
        .to_message()
        .map_err(|error| RescueError::io("describe", Path::new("the rescue"))(error.into()))?;
    let mut distinct: Vec<String> = Vec::new();
    for parent in parents {
        if !distinct.contains(parent) {
            distinct.push(parent.clone());
        }
    }
    let commit =
        git.commit_tree(&NewCommit { tree, parents: &distinct, message: &message, at: header.created_at })?;
    let about = match (&header.branch, &header.worktree) {
        (Some(branch), _) => branch.to_string(),
        (None, Some(PathText(path))) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        (None, None) => String::new(),
    };
    let mut attempt = 0;
    loop {
        let id = new_id(header.created_at, &about, attempt);
        if git.create_ref(&format!("{PREFIX}{id}"), &commit)? {
            sync_repository(common_dir)?;
            return Ok(list::from_header(id, commit, header));
        }
        attempt += 1;
    }
}

/// Builds a rescue with temporary index files, so that the worktree's index stays unchanged.
pub(super) struct RescueBuilder<'a> {
    source: &'a SourceWorktree,
    dir: TempDir,
    items: Vec<ManifestItem>,
    /// Files that are not written as blobs yet, with the index of their item.
    pending: Vec<(usize, PathBuf)>,
}

impl<'a> RescueBuilder<'a> {
    pub(super) fn new(source: &'a SourceWorktree) -> Result<Self, RescueError> {
        let dir = TempDir::with_prefix("git-paw-rescue-")
            .map_err(RescueError::io("create a directory in", &std::env::temp_dir()))?;
        Ok(Self { source, dir, items: Vec::new(), pending: Vec::new() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn source(&self) -> &'a SourceWorktree {
        self.source
    }

    fn store(mut self, uncommitted: &UncommittedWork, header: Header) -> Result<Rescue, RescueError> {
        let git = &self.source.git;
        let (index, index_tree) = self.add_index(&uncommitted.unmerged)?;
        self.add_operation_in_progress()?;
        self.add_modules(&uncommitted.module_dirs)?;
        self.add_work(uncommitted)?;
        self.write_contents()?;
        let deleted = uncommitted.deleted.iter().map(|path| (ItemKind::Deleted, 0, path));
        let unusual = uncommitted.permissions.iter().map(|(mode, path)| (ItemKind::Permissions, *mode, path));
        let directories = uncommitted
            .directories
            .iter()
            .map(|path| (ItemKind::Directory, permissions(self.source, path), path));
        let items = deleted.chain(directories).chain(unusual).map(|(kind, mode, path)| ManifestItem {
            kind,
            mode,
            oid: String::new(),
            path: path.clone(),
        });
        self.items.extend(items.collect::<Vec<_>>());

        git.edit_index(&index, &uncommitted.deleted, &self.visible_entries())?;
        let tree = git.write_index_tree(&index)?;

        self.finish(header, &tree, index_tree, &uncommitted.unmerged)
    }

    /// Creates the commits and the ref, unless the same work is stored already: the process that stored it was killed before
    /// it deleted anything.
    pub(super) fn finish(
        &self,
        mut header: Header,
        tree: &str,
        index_tree: String,
        unmerged: &[IndexEntry],
    ) -> Result<Rescue, RescueError> {
        let git = &self.source.git;
        let at = header.created_at;
        let state_tree = self.write_state(unmerged)?;
        let own_commits = find_worktree_only_commits(git, &self.source.admin_dir)?;
        let wanted =
            SameRescue { tree, index_tree: &index_tree, state_tree: &state_tree, commits: &own_commits };
        if let Some(stored) = list::find_same(git, &header, &wanted)? {
            sync_repository(&self.source.common_dir)?;
            return Ok(stored);
        }
        let state =
            git.commit_tree(&NewCommit { tree: &state_tree, parents: &[], message: "state\n", at })?;
        let staged = NewCommit { tree: &index_tree, parents: header.head.as_slice(), message: "index\n", at };
        let staged = git.commit_tree(&staged)?;
        let mut parents: Vec<String> = header.head.iter().cloned().collect();
        parents.extend([staged, state.clone()]);
        parents.extend(header.tip.iter().cloned());
        parents.extend(own_commits);
        header.index_tree = Some(index_tree);
        header.state = Some(state);
        publish(git, &self.source.common_dir, header, tree, &parents)
    }

    /// Copies the worktree's index without data that is valid only on this disk: file system monitor, untracked cache,
    /// split index and resolve-undo data.
    fn copy_index(&self) -> Result<PathBuf, RescueError> {
        let (original, kept, scratch) =
            (self.source.admin_dir.join("index"), self.path("index"), self.path("scratch"));
        let git = |args: &[&str]| {
            // Set explicitly, because the worktree's directory may be missing.
            let command = self.source.git.plumbing(Some(&kept), args.iter().copied());
            require_success(
                &command.env("GIT_DIR", &self.source.admin_dir).env("GIT_WORK_TREE", self.work_tree()),
            )
        };
        if original.exists() {
            files::copy_with_time(&original, &kept).map_err(RescueError::io("copy", &original))?;
            let forgotten =
                ["--no-split-index", "--no-untracked-cache", "--no-fsmonitor", "--clear-resolve-undo"];
            git(&[&["update-index"], &forgotten[..], &["--force-write-index"]].concat())?;
        } else {
            git(&["read-tree", "--empty"])?;
        }
        files::copy_with_time(&kept, &scratch).map_err(RescueError::io("copy", &kept))?;
        Ok(scratch)
    }

    fn work_tree(&self) -> &Path {
        if self.source.worktree.as_os_str().is_empty() { self.dir.path() } else { &self.source.worktree }
    }

    /// Adds the index as a file, and writes it as a tree without conflicted paths.
    pub(super) fn add_index(&mut self, unmerged: &[IndexEntry]) -> Result<(PathBuf, String), RescueError> {
        let scratch = self.copy_index()?;
        let dir = self.dir.path().to_path_buf();
        self.add_files(ItemKind::Admin, &dir, &[PathBuf::from("index")])?;
        let conflicted: Vec<PathBuf> = unmerged.iter().map(|entry| entry.path.clone()).collect();
        self.source.git.edit_index(&scratch, &conflicted, &[])?;
        let tree = self.source.git.write_index_tree(&scratch)?;
        Ok((scratch, tree))
    }

    fn add_operation_in_progress(&mut self) -> Result<(), RescueError> {
        let admin_dir = &self.source.admin_dir;
        let files = OPERATION_FILES.iter().chain(["config.worktree"].iter()).map(PathBuf::from);
        let mut files: Vec<PathBuf> = files.filter(|file| admin_dir.join(file).is_file()).collect();
        for dir in ["rebase-merge", "rebase-apply", "sequencer"] {
            if admin_dir.join(dir).is_dir() {
                files.extend(walk(admin_dir, Path::new(dir), &HashSet::new())?.files);
            }
        }
        self.add_files(ItemKind::Admin, &admin_dir.clone(), &files)
    }

    /// Adds submodules' git directories inside the worktree's admin directory.
    fn add_modules(&mut self, dirs: &[PathBuf]) -> Result<(), RescueError> {
        for dir in dirs {
            self.add_admin_dir(dir, &HashSet::new())?;
        }
        Ok(())
    }

    pub(super) fn add_admin_dir(
        &mut self,
        dir: &Path,
        skipped: &HashSet<PathBuf>,
    ) -> Result<(), RescueError> {
        let walked = walk(&self.source.admin_dir, dir, skipped)?;
        self.add_files(ItemKind::Admin, &self.source.admin_dir.clone(), &walked.files)?;
        let named = walked.directories.into_iter().filter(|dir| !dir.as_os_str().is_empty());
        let items = named.map(|path| ManifestItem {
            kind: ItemKind::AdminDirectory,
            mode: 0o40_755,
            oid: String::new(),
            path,
        });
        self.items.extend(items);
        Ok(())
    }

    fn add_work(&mut self, uncommitted: &UncommittedWork) -> Result<(), RescueError> {
        let worktree = self.source.worktree.clone();
        for kind in [ItemKind::Changed, ItemKind::Untracked, ItemKind::Nested, ItemKind::Ignored] {
            let files = uncommitted.files.iter().filter(|(of, _)| *of == kind).map(|(_, path)| path.clone());
            self.add_files(kind, &worktree, &files.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn add_files(&mut self, kind: ItemKind, root: &Path, files: &[PathBuf]) -> Result<(), RescueError> {
        for file in files {
            let absolute = root.join(file);
            let metadata = fs::symlink_metadata(&absolute).map_err(RescueError::io("read", &absolute))?;
            let content = if metadata.is_symlink() { self.link_as_file(&absolute)? } else { absolute };
            self.pending.push((self.items.len(), content));
            self.items.push(ManifestItem {
                kind,
                mode: metadata.mode(),
                oid: String::new(),
                path: file.clone(),
            });
        }
        Ok(())
    }

    /// Writes all pending files as blobs, with one call of git.
    pub(super) fn write_contents(&mut self) -> Result<(), RescueError> {
        let (positions, files): (Vec<usize>, Vec<PathBuf>) =
            std::mem::take(&mut self.pending).into_iter().unzip();
        for (at, oid) in positions.into_iter().zip(self.source.git.write_blobs(&files)?) {
            self.items[at].oid = oid;
        }
        Ok(())
    }

    /// Writes the target of a symlink to a file, because git would follow the symlink.
    fn link_as_file(&self, link: &Path) -> Result<PathBuf, RescueError> {
        let target = fs::read_link(link).map_err(RescueError::io("read", link))?;
        let mut name = tempfile::Builder::new();
        let file = name
            .prefix("link-")
            .tempfile_in(self.dir.path())
            .and_then(|mut file| {
                std::io::Write::write_all(&mut file, target.as_os_str().as_bytes())?;
                file.into_temp_path().keep().map_err(Into::into)
            })
            .map_err(RescueError::io("copy", link))?;
        Ok(file)
    }

    /// The files in the rescue's own tree, under names that a tree can contain.
    fn visible_entries(&self) -> Vec<TreeEntry> {
        let visible = |item: &&ManifestItem| {
            matches!(
                item.kind,
                ItemKind::Changed | ItemKind::Untracked | ItemKind::Nested | ItemKind::Ignored
            ) && !item.oid.is_empty()
        };
        let entry = |item: &ManifestItem| TreeEntry {
            mode: item.tree_mode().to_owned(),
            oid: item.oid.clone(),
            path: tree_path(&item.path, item.is_symlink()),
        };
        self.items.iter().filter(visible).map(entry).collect()
    }

    /// Writes the tree of the state: the manifest, the files it lists, and all sides of conflicts.
    fn write_state(&self, unmerged: &[IndexEntry]) -> Result<String, RescueError> {
        let git = &self.source.git;
        let mut entries: Vec<TreeEntry> = self.items.iter().filter_map(ManifestItem::tree_entry).collect();
        // Intent-to-add index entries refer to the empty blob.
        let own = [("manifest", manifest::to_bytes(&self.items)), ("empty", Vec::new())];
        for (name, bytes) in &own {
            let path = self.path(name);
            files::write_new(&path, bytes, 0o600).map_err(RescueError::io("write", &path))?;
        }
        let oids = git.write_blobs(&own.each_ref().map(|(name, _)| self.path(name)))?;
        entries.extend(own.iter().zip(oids).map(|((name, _), oid)| TreeEntry {
            mode: "100644".to_owned(),
            oid,
            path: PathBuf::from(name),
        }));
        entries.extend(unmerged.iter().filter(|entry| !entry.is_submodule()).map(|entry| TreeEntry {
            mode: entry.mode.clone(),
            oid: entry.oid.clone(),
            path: Path::new("conflict").join(entry.stage.to_string()).join(&entry.path),
        }));
        let index = self.path("state");
        git.edit_index(&index, &[], &entries)?;
        Ok(git.write_index_tree(&index)?)
    }
}

fn permissions(source: &SourceWorktree, path: &Path) -> u32 {
    fs::symlink_metadata(source.worktree.join(path)).map_or(0o40_755, |metadata| metadata.mode())
}

fn require_success(command: &paw_host::process::Command) -> Result<(), RescueError> {
    let output = command.capture().map_err(GitError::from)?;
    if output.exit.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(GitError::Failed { command: command.to_string(), exit: output.exit, stderr }.into())
}
