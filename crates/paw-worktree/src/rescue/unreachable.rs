//! Commits that a removal would make unreachable.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{Git, GitError};

/// Whether a branch has been merged into `into`, also by rebase, cherry-pick or squash.
pub fn is_merged(git: &Git, branch: &BranchName, into: &BranchName) -> Result<bool, GitError> {
    git.is_merged(&branch.full_ref(), &into.full_ref())
}

/// Whether deleting `deleted_branch` makes commits of `tip` unreachable: no branch, tag or remote contains them, and they are
/// not merged into the default branch.
pub(super) fn becomes_unreachable(
    git: &Git,
    tip: &str,
    deleted_branch: Option<&BranchName>,
) -> Result<bool, GitError> {
    let exclude = deleted_branch.map(|branch| format!("--exclude={branch}"));
    let args = ["rev-list", "--max-count=1", tip, "--not"].map(str::to_owned);
    let others = ["--branches", "--tags", "--remotes"].map(str::to_owned);
    if git.line(args.into_iter().chain(exclude).chain(others))?.is_empty() {
        return Ok(false);
    }
    let Some(default) = git.find_default_branch()? else { return Ok(true) };
    if deleted_branch != Some(&default) && git.is_merged(tip, &default.full_ref())? {
        return Ok(false);
    }
    Ok(!git.is_merged(tip, &format!("refs/remotes/origin/{default}"))?)
}

/// Tips of commits that only this worktree refers to: in its reflog, its own refs, or a merge or rebase in progress.
pub(super) fn find_worktree_only_commits(git: &Git, admin_dir: &Path) -> Result<Vec<String>, GitError> {
    let recorded = load_recorded_commits(admin_dir);
    if recorded.is_empty() {
        return Ok(recorded);
    }
    let args = [
        "rev-list",
        "--ignore-missing",
        "--parents",
        "--stdin",
        "--not",
        "--branches",
        "--tags",
        "--remotes",
    ];
    // The `--not` of the command line does not apply to commits from stdin.
    let command = git.plumbing(None, args).input(recorded.join("\n") + "\n");
    let output = command.capture()?;
    // An invalid name makes git fail. These commits are a best-effort extra, so that is not an error.
    Ok(find_tips(&String::from_utf8_lossy(&output.stdout)))
}

/// From lines of `commit parent…`: the commits that are no parent of another.
pub(super) fn find_tips(listing: &str) -> Vec<String> {
    let parents: std::collections::HashSet<&str> =
        listing.lines().flat_map(|line| line.split(' ').skip(1)).collect();
    listing
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|commit| !commit.is_empty() && !parents.contains(commit))
        .map(str::to_owned)
        .collect()
}

fn load_recorded_commits(admin_dir: &Path) -> Vec<String> {
    const NEWEST_REFLOG_LINES: usize = 200;
    const NAMED_IN: [&str; 9] = [
        "HEAD",
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        "rebase-merge/orig-head",
        "rebase-merge/stopped-sha",
        "rebase-apply/orig-head",
        "rebase-merge/onto",
    ];
    let read = |name: &str| fs::read_to_string(admin_dir.join(name)).unwrap_or_default();
    let mut found: Vec<String> =
        NAMED_IN.iter().flat_map(|name| read(name).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let reflog = fs::read(admin_dir.join("logs/HEAD")).unwrap_or_default();
    let reflog = String::from_utf8_lossy(&reflog);
    found.extend(
        reflog
            .lines()
            .rev()
            .take(NEWEST_REFLOG_LINES)
            .filter_map(|line| line.split(' ').nth(1))
            .map(str::to_owned),
    );
    found.extend(load_worktree_refs(&admin_dir.join("refs")));
    let is_oid =
        |text: &String| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    found.retain(|text| is_oid(text) && text.bytes().any(|byte| byte != b'0'));
    found.sort();
    found.dedup();
    found
}

/// Refs of one worktree alone: bisect, `refs/worktree/…`.
fn load_worktree_refs(dir: &Path) -> Vec<String> {
    let none = std::collections::HashSet::new();
    let files: Vec<PathBuf> = ["bisect", "worktree", "rewritten"]
        .iter()
        .filter_map(|name| super::files::walk(dir, Path::new(name), &none).ok())
        .flat_map(|walked| walked.files)
        .collect();
    files
        .iter()
        .filter_map(|file| fs::read_to_string(dir.join(file)).ok())
        .map(|text| text.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_tips_returns_commits_without_children() {
        assert_eq!(find_tips("c b\nb a\nd a\n"), ["c", "d"]);
        assert!(find_tips("").is_empty());
    }
}
