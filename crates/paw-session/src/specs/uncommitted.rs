//! Finds specs that a new worktree would not contain, because they are not committed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError};

use super::SpecEntry;

/// The ids of specs with modified, untracked or ignored files.
pub fn find_uncommitted(repo_root: &Path, entries: &[SpecEntry]) -> Result<Vec<String>, GitError> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let real_root = repo_root.canonicalize().unwrap_or_else(|_| repo_root.to_path_buf());
    let git = Git::at(&real_root);
    if git.find(["rev-parse", "--verify", "--quiet", "HEAD"])?.is_none() {
        return Ok(entries.iter().map(|entry| entry.id.clone()).collect());
    }
    let is_foreign = |entry: &SpecEntry| is_in_another_repository(&real_root, &entry.path);
    let ours: Vec<&Path> =
        entries.iter().filter(|entry| !is_foreign(entry)).map(|entry| entry.path.as_path()).collect();
    let changed = names(&git, &["diff", "--name-only", "-z", "HEAD"], &ours)?;
    let untracked = names(&git, &["ls-files", "-z", "--others"], &ours)?;
    let files: Vec<PathBuf> = changed.into_iter().chain(untracked).map(|name| real_root.join(name)).collect();
    let is_open =
        |entry: &&SpecEntry| is_foreign(entry) || files.iter().any(|file| file.starts_with(&entry.path));
    Ok(entries.iter().filter(is_open).map(|entry| entry.id.clone()).collect())
}

/// Whether the path is in a submodule or a nested repository, which is empty in a new worktree.
fn is_in_another_repository(root: &Path, path: &Path) -> bool {
    path.ancestors().take_while(|dir| *dir != root).any(|dir| dir.join(".git").exists())
}

/// The files that git lists below the specs, relative to the root.
fn names(git: &Git, question: &[&str], specs: &[&Path]) -> Result<Vec<PathBuf>, GitError> {
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    let mut args: Vec<OsString> = vec!["--literal-pathspecs".into()];
    args.extend(question.iter().map(Into::into));
    args.push("--".into());
    let mut paths = specs.to_vec();
    paths.dedup();
    args.extend(paths.into_iter().map(Into::into));
    let listing = git.run(args)?;
    let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}
