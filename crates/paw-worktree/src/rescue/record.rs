//! Git's record of a worktree whose directory is missing: stored before git prunes it, and restored when the directory
//! returns.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_core::paths::PawDir;
use paw_host::clock;
use paw_host::files::{Access, write_atomic};
use paw_host::git::{Git, GitError, IndexEntry, Repo};
use paw_host::locks::WorktreesLock;
use paw_host::process::Command;
use serde::Serialize;
use tempfile::TempDir;

use super::branch::{BranchOutcome, restore_branch};
use super::files::{self, Content};
use super::header::{Header, PathText};
use super::list::{StoredRescue, require_stored};
use super::load::{for_each_blob, load_items};
use super::manifest::{ItemKind, ManifestItem};
use super::restore_worktree::{link_module, resolve_lexically};
use super::store::RescueBuilder;
use super::uncommitted::{SourceWorktree, git_dir};
use super::{Rescue, RescueError, RescueKind, bytes_path};

/// A directory that was linked to git again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelinkedWorktree {
    pub rescue: Rescue,
    #[serde(serialize_with = "super::lossy")]
    pub worktree: PathBuf,
    /// `.git/worktrees/<name>`
    #[serde(serialize_with = "super::lossy")]
    pub admin_dir: PathBuf,
    pub branch: BranchOutcome,
}

/// Stores HEAD, index and everything else in git's admin directory of a worktree, `.git/worktrees/<name>`, including the
/// git directories of its submodules.
pub fn store_record(
    repo: &Repo,
    admin_dir: &Path,
    branch: Option<&BranchName>,
    reason: &str,
) -> Result<Rescue, RescueError> {
    let admin_dir = admin_dir.canonicalize().map_err(RescueError::io("find", admin_dir))?;
    let source = SourceWorktree {
        git: repo.git(),
        worktree: PathBuf::new(),
        common_dir: repo.common_dir.clone(),
        admin_dir: admin_dir.clone(),
    };
    let head = find_output(&git_command(&admin_dir, ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]))?;
    let current = find_output(&git_command(&admin_dir, ["symbolic-ref", "--quiet", "HEAD"]))?
        .and_then(|name| BranchName::new(name.strip_prefix("refs/heads/")?).ok());
    let branch = branch.cloned().or_else(|| current.clone());
    let mut header = Header::new(RescueKind::Record, reason, clock::now());
    header.tip = match &branch {
        Some(branch) => source.git.find_tip(branch)?,
        None => None,
    };
    header.on_branch = current.is_some() && current == branch;
    header.branch = branch;
    header.worktree = recorded_worktree(&admin_dir).map(PathText);
    header.admin_dir = Some(PathText(admin_dir.clone()));
    header.head = head;
    RescueBuilder::new(&source)?.store_record(header)
}

impl RescueBuilder<'_> {
    fn store_record(mut self, header: Header) -> Result<Rescue, RescueError> {
        let skipped = ["index", "locked", "index.lock", "HEAD.lock"].map(PathBuf::from);
        self.add_admin_dir(Path::new(""), &HashSet::from(skipped))?;
        let unmerged = load_unmerged(&self.source().admin_dir)?;
        let (_, tree) = self.add_index(&unmerged)?;
        self.write_contents()?;
        self.finish(header, &tree.clone(), tree, &unmerged)
    }
}

fn load_unmerged(admin_dir: &Path) -> Result<Vec<IndexEntry>, RescueError> {
    let listing = git_command(admin_dir, ["ls-files", "-z", "-v", "--stage"]).env("GIT_WORK_TREE", admin_dir);
    let output = listing.capture().map_err(GitError::from)?;
    let entries = paw_host::git::parse_index_entries(&output.stdout);
    Ok(entries.into_iter().filter(|entry| entry.stage != 0).collect())
}

/// Relinks a directory that has returned, from a record. HEAD points to its branch again, unless the branch has moved or
/// is checked out elsewhere.
pub fn restore_record(
    repo: &Repo,
    id: &str,
    worktree: &Path,
    _lock: &WorktreesLock,
) -> Result<RelinkedWorktree, RescueError> {
    let stored = require_stored(repo, id)?;
    if stored.rescue.kind != RescueKind::Record {
        return Err(RescueError::NotARecord(stored.rescue.id));
    }
    let worktree = worktree.canonicalize().map_err(RescueError::io("find", worktree))?;
    let refused =
        |problem: &str| RescueError::CannotRelink { dir: worktree.clone(), problem: problem.to_owned() };
    if worktree.join(".git").is_dir() {
        return Err(refused("it has its own repository"));
    }
    let is_recorded_here = |admin_dir: PathBuf| recorded_worktree(&admin_dir).as_ref() == Some(&worktree);
    if git_dir(&worktree).is_some_and(is_recorded_here) {
        return Err(refused("git already lists it"));
    }
    let items = load_items(repo, &stored)?;
    let prepared = build_admin_dir(repo, &stored, &items, &worktree)?;
    let branch = restore_branch(&repo.git(), &stored.header, Some(&worktree))?;
    let admin_dir = install_admin_dir(repo, &stored, prepared)?;
    let dot_git = worktree.join(".git");
    let link = [b"gitdir: ", admin_dir.as_os_str().as_bytes(), b"\n"].concat();
    write_atomic(&dot_git, &link, Access::Usual)
        .map_err(|error| RescueError::io("write", &dot_git)(error.source))?;
    let git = Git::at(&worktree);
    if let (true, None, Some(head)) = (stored.header.on_branch, branch.usable(), &stored.header.head) {
        git.plumb(None, ["update-ref", "--no-deref", "HEAD", head])?;
    }
    relink_modules(&worktree, &admin_dir, &stored.header, &items)?;
    git.plumb(None, ["rev-parse", "--git-dir"])?;
    Ok(RelinkedWorktree { rescue: stored.rescue, worktree, admin_dir, branch })
}

/// Builds the admin directory in a temporary directory that git does not read.
fn build_admin_dir(
    repo: &Repo,
    stored: &StoredRescue,
    items: &[ManifestItem],
    worktree: &Path,
) -> Result<TempDir, RescueError> {
    let paw_dir = PawDir::of(&repo.common_dir).path().to_path_buf();
    fs::create_dir_all(&paw_dir).map_err(RescueError::io("create", &paw_dir))?;
    let prepared = tempfile::Builder::new()
        .prefix("relink-")
        .tempdir_in(&paw_dir)
        .map_err(RescueError::io("create a directory in", &paw_dir))?;
    for item in items.iter().filter(|item| item.kind == ItemKind::AdminDirectory) {
        files::create_dir(prepared.path(), &item.path)?;
    }
    let files: Vec<&ManifestItem> = items.iter().filter(|item| item.kind == ItemKind::Admin).collect();
    if !files.iter().any(|item| item.path == Path::new("HEAD")) {
        return Err(RescueError::NotARecord(stored.rescue.id.clone()));
    }
    for_each_blob(&repo.git(), &files, |item, bytes| {
        files::write(prepared.path(), &item.path, &Content::of(item, bytes))
    })?;
    let gitdir = [worktree.join(".git").as_os_str().as_bytes(), b"\n"].concat();
    for (name, bytes) in [("gitdir", gitdir.as_slice()), ("commondir", b"../..\n")] {
        files::write(prepared.path(), Path::new(name), &Content::File { bytes, permissions: 0o644 })?;
    }
    Ok(prepared)
}

/// Moves the admin directory into place atomically, under its old name if that is free.
fn install_admin_dir(repo: &Repo, stored: &StoredRescue, prepared: TempDir) -> Result<PathBuf, RescueError> {
    let records = repo.common_dir.join("worktrees");
    fs::create_dir_all(&records).map_err(RescueError::io("create", &records))?;
    let old = stored.header.admin_dir.as_ref().and_then(|PathText(dir)| dir.file_name());
    let name = old.map_or_else(|| OsString::from("worktree"), OsString::from);
    let mut number = 1_u32;
    loop {
        let mut candidate = name.clone();
        if number > 1 {
            candidate.push(format!("-{number}"));
        }
        let target = records.join(candidate);
        if fs::symlink_metadata(&target).is_err() {
            let prepared = prepared.keep();
            fs::rename(&prepared, &target).map_err(RescueError::io("create", &target))?;
            return Ok(target);
        }
        number += 1;
    }
}

/// The git directories of submodules were restored with the record; their checkouts may refer to another path.
fn relink_modules(
    worktree: &Path,
    admin_dir: &Path,
    header: &Header,
    items: &[ManifestItem],
) -> Result<(), RescueError> {
    let is_config = |item: &&ManifestItem| {
        item.kind == ItemKind::Admin && item.path.starts_with("modules") && item.path.ends_with("config")
    };
    for item in items.iter().filter(is_config) {
        let Some(module) = item.path.parent() else { continue };
        let config = admin_dir.join(&item.path);
        let get = ["config", "-f"].map(OsString::from).into_iter().chain([config.into()]);
        let named = Git::at("/").find(get.chain(["--get", "core.worktree"].map(OsString::from)))?;
        let old_admin = header.admin_dir.as_ref().map(|PathText(dir)| dir.clone()).unwrap_or_default();
        let old = named.map(|named| resolve_lexically(&old_admin.join(module), Path::new(&named)));
        let old_worktree = header.worktree.as_ref().map(|PathText(dir)| dir.clone()).unwrap_or_default();
        if let Some(checkout) = old.as_deref().and_then(|old| old.strip_prefix(old_worktree).ok())
            && worktree.join(checkout).join(".git").is_file()
            && files::find_obstacle(admin_dir, &item.path).is_none()
            && files::find_obstacle(worktree, &checkout.join(".git")).is_none()
        {
            link_module(&worktree.join(checkout), &admin_dir.join(module))?;
        }
    }
    Ok(())
}

/// A git command that uses the worktree's admin directory.
fn git_command<A: Into<OsString>>(admin_dir: &Path, args: impl IntoIterator<Item = A>) -> Command {
    Git::at(admin_dir).plumbing(None, args).env("GIT_DIR", admin_dir)
}

fn find_output(command: &Command) -> Result<Option<String>, RescueError> {
    let output = command.capture().map_err(GitError::from)?;
    let text = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
    Ok(Some(text).filter(|text| output.exit.success() && !text.is_empty()))
}

/// The path of the worktree: the parent of the `.git` file that git recorded, which may be relative.
fn recorded_worktree(admin_dir: &Path) -> Option<PathBuf> {
    let text = fs::read(admin_dir.join("gitdir")).ok()?;
    let dot_git = resolve_lexically(admin_dir, &bytes_path(text.trim_ascii_end()));
    dot_git.parent().map(Path::to_path_buf)
}
