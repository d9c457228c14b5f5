//! The resolved plan of a creation: repository, branch and path.

use std::path::{Component, Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{BranchLocation, BranchSource, BranchState, Git, Repo};

use crate::error::WorktreeError;

/// A worktree to create, with its path resolved.
#[derive(Debug, Clone)]
pub(crate) struct CreatePlan {
    pub(crate) repo: Repo,
    pub(crate) branch: BranchName,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) rule: BranchRule,
    pub(crate) rebase_onto: Option<BranchName>,
}

/// Whether the branch must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchRule {
    /// It must exist locally.
    Existing,
    /// It must not exist yet.
    New,
    /// Use the local branch, else track the remote branch, else create one.
    Any,
}

impl CreatePlan {
    /// Where the branch comes from, and the commit it starts at.
    pub(crate) fn source(
        &self,
        git: &Git,
        state: &BranchState,
    ) -> Result<(BranchSource, String), WorktreeError> {
        match (&state.commit, self.rule) {
            (Some(commit), BranchRule::Existing | BranchRule::Any) => match &state.checked_out_at {
                None => Ok((BranchSource::Existing, commit.clone())),
                Some(path) => {
                    Err(WorktreeError::BranchCheckedOut { branch: self.branch.clone(), path: path.clone() })
                }
            },
            (Some(_), BranchRule::New) => Err(WorktreeError::BranchExists(self.branch.clone())),
            (None, BranchRule::Existing) => Err(WorktreeError::BranchMissing(self.branch.clone())),
            (None, BranchRule::New) => self.new_branch(git, state),
            (None, BranchRule::Any) => match git.find_branch(&self.branch)? {
                BranchLocation::Remote(remote) => {
                    let tracked = format!("refs/remotes/{remote}/{}", self.branch);
                    let commit = git.line(["rev-parse", "--verify", &format!("{tracked}^{{commit}}")])?;
                    Ok((BranchSource::Tracking(tracked), commit))
                }
                BranchLocation::Local | BranchLocation::Nowhere => self.new_branch(git, state),
            },
        }
    }

    fn new_branch(&self, git: &Git, state: &BranchState) -> Result<(BranchSource, String), WorktreeError> {
        if let Some(existing) = &state.in_the_way {
            return Err(WorktreeError::BranchNameConflict {
                wanted: self.branch.clone(),
                existing: existing.clone(),
            });
        }
        let head = match &state.main_commit {
            Some(commit) => Some(commit.clone()),
            None => git.find(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?,
        };
        let start = head.ok_or_else(|| WorktreeError::NoCommit(self.repo.root.clone()))?;
        Ok((BranchSource::NewAt(start.clone()), start))
    }
}

/// The path as git reports it: absolute, with symlinks resolved. Refuses a path inside the git directory.
pub(crate) fn real_path(path: &Path, repo: &Repo) -> Result<PathBuf, WorktreeError> {
    let invalid = |problem| WorktreeError::InvalidPath { path: path.to_path_buf(), problem };
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).map_err(|_| invalid("is not a path"))?.components() {
        // `link/..` is the parent of the link's target, so resolve before going up.
        if part == Component::ParentDir {
            plain = plain.canonicalize().unwrap_or(plain);
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    let Some(existing) = plain.ancestors().skip(1).find(|dir| dir.exists()) else {
        return Err(invalid("has no existing parent directory"));
    };
    let below = plain.strip_prefix(existing).unwrap_or(&plain).to_path_buf();
    let real = existing.canonicalize().map_err(|_| invalid("cannot be reached"))?.join(below);
    if real.starts_with(&repo.common_dir) && !repo.bare {
        return Err(invalid("is inside the git directory"));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use paw_core::Diagnostic as _;

    use super::*;

    #[test]
    fn real_path_resolves_symlinks_and_refuses_the_git_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::create_dir_all(root.join("app/.git")).unwrap();
        std::os::unix::fs::symlink(root.join("real/deep"), root.join("link")).unwrap();
        let repo =
            Repo { root: root.join("app"), worktree: None, common_dir: root.join("app/.git"), bare: false };
        let real = |path: &str| real_path(&root.join(path), &repo).map_err(|error| error.report().message);
        assert_eq!(real("link/new/tree"), Ok(root.join("real/deep/new/tree")));
        assert_eq!(real("link/../tree"), Ok(root.join("real/tree")));
        assert_eq!(real("app/../tree"), Ok(root.join("tree")));
        assert!(real("app/.git/x").unwrap_err().ends_with("is inside the git directory"));
    }
}
