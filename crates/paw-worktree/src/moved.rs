//! Work of an agent that moves to another machine. It waits under a ref until the agent's worktree exists.

use std::path::{Path, PathBuf};

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};
use paw_host::git::{DifferenceKind, Git, GitError, Repo};

/// Moved work cannot be put into its worktree.
#[derive(Debug, thiserror::Error)]
pub enum MovedWorkError {
    #[error("{} has changes of its own or is not at the commit of the moved work", .0.display())]
    Occupied(PathBuf),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Diagnostic for MovedWorkError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Occupied(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self)
                .hint("commit or remove what is there, then move the agent again"),
            Self::Git(error) => error.report(),
        }
    }
}

/// The ref of a branch's moved work: a commit on top of the branch.
pub fn moved_ref(branch: &BranchName) -> String {
    format!("refs/paw/moved/{branch}")
}

/// Puts the moved work of a branch, if there is any, into its new worktree as uncommitted changes.
pub fn restore(repo: &Repo, worktree: &Path, branch: &BranchName) -> Result<(), MovedWorkError> {
    let (git, full_ref) = (repo.git(), moved_ref(branch));
    let Some(commit) = git.find_object(&full_ref, "commit")? else { return Ok(()) };
    let there = Git::at(worktree);
    let is_change = |kind: DifferenceKind| kind != DifferenceKind::Ignored;
    let is_clean = !there.differences()?.into_iter().any(|found| is_change(found.kind));
    let base = git.find_object(&format!("{commit}^"), "commit")?;
    if base != there.find_object("HEAD", "commit")? || !is_clean {
        return Err(MovedWorkError::Occupied(worktree.to_path_buf()));
    }
    let source = format!("--source={commit}");
    there.plumb(None, ["restore", "--quiet", "--worktree", &source, "--", ":/"])?;
    Ok(git.delete_ref(&full_ref, &commit)?)
}

/// Forgets moved work of a branch, because it has arrived or its agent is removed.
pub fn forget(repo: &Repo, branch: &BranchName) -> Result<(), GitError> {
    let (git, full_ref) = (repo.git(), moved_ref(branch));
    match git.find_object(&full_ref, "commit")? {
        Some(commit) => git.delete_ref(&full_ref, &commit),
        None => Ok(()),
    }
}
