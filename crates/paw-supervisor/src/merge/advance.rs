//! Moving a branch: only from where it was seen, and never over what somebody has in a checkout.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{Change, Git, GitError, Repo};

/// Whether a branch was moved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Advanced {
    Done,
    /// It is not where it was.
    Moved,
    Refused(String),
}

/// Where a branch is checked out.
enum Holder {
    Nobody,
    At(PathBuf),
    Busy(String),
}

/// Moves `base` forward from one commit to another. Where it is checked out, the files follow; git refuses when that
/// would touch changed, untracked or ignored files, and everything stays as it was.
pub(super) fn fast_forward(
    repo: &Repo,
    base: &BranchName,
    (from, to): (&str, &str),
    why: &str,
) -> Result<Advanced, GitError> {
    let args = ["merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--quiet", "--no-stat", to];
    relocate(repo, base, (from, to), why, &args)
}

/// Puts a branch elsewhere, after it was rebased. Its worktree, if it has one, must be without changes and follows.
pub(super) fn put(
    repo: &Repo,
    branch: &BranchName,
    (from, to): (&str, &str),
    why: &str,
) -> Result<Advanced, GitError> {
    if let Some(obstacle) = find_obstacle(repo, branch)? {
        return Ok(Advanced::Refused(obstacle));
    }
    let options = ["-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--no-overwrite-ignore"];
    let target = ["--no-recurse-submodules", "--no-track", "-B", branch.as_str(), to];
    relocate(repo, branch, (from, to), why, &[options, target].concat())
}

/// Moves a branch that is still at `from`: by `in_checkout`, a git command, where it is checked out, else by itself.
fn relocate(
    repo: &Repo,
    branch: &BranchName,
    (from, to): (&str, &str),
    why: &str,
    in_checkout: &[&str],
) -> Result<Advanced, GitError> {
    let dir = match find_holder(repo, branch)? {
        Holder::Busy(why) => return Ok(Advanced::Refused(why)),
        Holder::Nobody => return swap(&repo.git(), branch, (from, to), why),
        Holder::At(dir) => dir,
    };
    let git = Git::at(&dir);
    if git.find_tip(branch)?.as_deref() != Some(from) {
        return Ok(Advanced::Moved);
    }
    let output = git.command(in_checkout.iter().copied()).env("GIT_REFLOG_ACTION", why).capture()?;
    Ok(match git.find_tip(branch)?.as_deref() {
        Some(now) if now == to => Advanced::Done,
        Some(now) if now == from => {
            let said = String::from_utf8_lossy(&output.stderr);
            Advanced::Refused(format!("{}: {}", dir.display(), one_line(&said)))
        }
        _ => Advanced::Moved,
    })
}

/// Why a branch cannot be put elsewhere now, if so.
pub(super) fn find_obstacle(repo: &Repo, branch: &BranchName) -> Result<Option<String>, GitError> {
    match find_holder(repo, branch)? {
        Holder::Nobody => Ok(None),
        Holder::Busy(why) => Ok(Some(why)),
        Holder::At(dir) => {
            let is_changed = is_changed(&Git::at(&dir))?;
            Ok(is_changed.then(|| format!("{} has uncommitted changes", dir.display())))
        }
    }
}

/// Whether tracked files have changes. Files that git does not know stay where they are, or git refuses.
fn is_changed(git: &Git) -> Result<bool, GitError> {
    Ok(git.status()?.iter().any(|entry| !matches!(entry.change, Change::Untracked | Change::Ignored)))
}

/// Compare and swap.
fn swap(git: &Git, branch: &BranchName, (from, to): (&str, &str), why: &str) -> Result<Advanced, GitError> {
    match git.plumb(None, ["update-ref", "-m", why, &branch.full_ref(), to, from]) {
        Ok(_) => Ok(Advanced::Done),
        Err(_) if git.find_tip(branch)?.as_deref() != Some(from) => Ok(Advanced::Moved),
        Err(error) => Err(error),
    }
}

fn find_holder(repo: &Repo, branch: &BranchName) -> Result<Holder, GitError> {
    if is_being_rebased(&repo.common_dir, branch) {
        return Ok(Holder::Busy(format!("{branch} is being rebased")));
    }
    let mut holders = repo.git().worktrees()?;
    holders.retain(|tree| tree.branch() == Some(branch) && tree.prunable.is_none());
    Ok(match holders.as_slice() {
        [] => Holder::Nobody,
        [one] => Holder::At(one.path.clone()),
        [_, _, ..] => Holder::Busy(format!("{branch} is checked out more than once")),
    })
}

/// During a rebase HEAD is detached, and yet the branch is going to be moved at its end.
fn is_being_rebased(common_dir: &Path, branch: &BranchName) -> bool {
    let linked = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    let mut dirs = linked.map(|entry| entry.path()).chain([common_dir.to_path_buf()]);
    dirs.any(|dir| {
        ["rebase-merge", "rebase-apply"].into_iter().any(|kind| {
            let name = fs::read(dir.join(kind).join("head-name")).unwrap_or_default();
            name.trim_ascii_end() == branch.full_ref().as_bytes()
        })
    })
}

/// What git says in several lines, in one.
fn one_line(said: &str) -> String {
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "git refused it".to_owned() } else { lines.join(" ") }
}
