//! Moves a branch, only if it is still at the expected commit and never over changes in a checkout.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{Change, Git, GitError, Repo};
use serde::{Deserialize, Serialize};

/// The result of moving a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdvanceResult {
    Done,
    /// It is no longer at the expected commit.
    Moved,
    Refused(String),
}

/// Where a branch is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchHolder {
    NotCheckedOut,
    CheckedOut(PathBuf),
    /// It is being rebased, or checked out more than once.
    Busy(String),
}

/// Fast-forwards `base` from one commit to another. If it is checked out, its files are updated; if that would overwrite
/// changed, untracked or ignored files, git refuses and nothing changes.
pub fn fast_forward(
    repo: &Repo,
    base: &BranchName,
    (from, to): (&str, &str),
    why: &str,
) -> Result<AdvanceResult, GitError> {
    let args = ["merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--quiet", "--no-stat", to];
    relocate(repo, base, (from, to), why, &args)
}

/// Moves a branch to its rebased commit. If it is checked out, its worktree must have no changes and is updated.
pub fn move_branch(
    repo: &Repo,
    branch: &BranchName,
    (from, to): (&str, &str),
    why: &str,
) -> Result<AdvanceResult, GitError> {
    if let Some(obstacle) = find_obstacle(repo, branch)? {
        return Ok(AdvanceResult::Refused(obstacle));
    }
    let options = ["-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--no-overwrite-ignore"];
    let target = ["--no-recurse-submodules", "--no-track", "-B", branch.as_str(), to];
    relocate(repo, branch, (from, to), why, &[options, target].concat())
}

/// Moves a branch that is still at `from`: with the git command `in_checkout` if it is checked out, else by its ref.
fn relocate(
    repo: &Repo,
    branch: &BranchName,
    (from, to): (&str, &str),
    why: &str,
    in_checkout: &[&str],
) -> Result<AdvanceResult, GitError> {
    let dir = match find_holder(repo, branch)? {
        BranchHolder::Busy(why) => return Ok(AdvanceResult::Refused(why)),
        BranchHolder::NotCheckedOut => return swap(&repo.git(), branch, (from, to), why),
        BranchHolder::CheckedOut(dir) => dir,
    };
    let git = Git::at(&dir);
    if git.find_tip(branch)?.as_deref() != Some(from) {
        return Ok(AdvanceResult::Moved);
    }
    let output = git.command(in_checkout.iter().copied()).env("GIT_REFLOG_ACTION", why).capture()?;
    Ok(match git.find_tip(branch)?.as_deref() {
        Some(now) if now == to => AdvanceResult::Done,
        Some(now) if now == from => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            AdvanceResult::Refused(format!("{}: {}", dir.display(), one_line(&stderr)))
        }
        _ => AdvanceResult::Moved,
    })
}

/// Why a branch cannot be moved now, if so.
pub fn find_obstacle(repo: &Repo, branch: &BranchName) -> Result<Option<String>, GitError> {
    match find_holder(repo, branch)? {
        BranchHolder::NotCheckedOut => Ok(None),
        BranchHolder::Busy(why) => Ok(Some(why)),
        BranchHolder::CheckedOut(dir) => {
            let is_changed = is_changed(&Git::at(&dir))?;
            Ok(is_changed.then(|| format!("{} has uncommitted changes", dir.display())))
        }
    }
}

/// Whether tracked files have changes. git itself protects untracked files.
fn is_changed(git: &Git) -> Result<bool, GitError> {
    Ok(git.status()?.iter().any(|entry| !matches!(entry.change, Change::Untracked | Change::Ignored)))
}

/// Compare and swap.
fn swap(
    git: &Git,
    branch: &BranchName,
    (from, to): (&str, &str),
    why: &str,
) -> Result<AdvanceResult, GitError> {
    match git.plumb(None, ["update-ref", "-m", why, &branch.full_ref(), to, from]) {
        Ok(_) => Ok(AdvanceResult::Done),
        Err(_) if git.find_tip(branch)?.as_deref() != Some(from) => Ok(AdvanceResult::Moved),
        Err(error) => Err(error),
    }
}

/// The worktree that has the branch checked out.
pub fn find_holder(repo: &Repo, branch: &BranchName) -> Result<BranchHolder, GitError> {
    if is_being_rebased(&repo.common_dir, branch) {
        return Ok(BranchHolder::Busy(format!("{branch} is being rebased")));
    }
    let mut holders = repo.git().worktrees()?;
    holders.retain(|tree| tree.branch() == Some(branch) && tree.prunable.is_none());
    Ok(match holders.as_slice() {
        [] => BranchHolder::NotCheckedOut,
        [one] => BranchHolder::CheckedOut(one.path.clone()),
        [_, _, ..] => BranchHolder::Busy(format!("{branch} is checked out in more than one worktree")),
    })
}

/// During a rebase HEAD is detached, but git moves the branch when the rebase finishes.
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

/// git's message on one line.
fn one_line(output: &str) -> String {
    let lines: Vec<_> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "git refused".to_owned() } else { lines.join(" ") }
}
