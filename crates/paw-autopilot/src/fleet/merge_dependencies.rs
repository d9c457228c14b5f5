//! Merges the branches a task depends on into the task's branch.

use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::clock;
use paw_host::files::{self, Access};
use paw_host::git::{Git, GitError};

use super::merge_statuses::merge_statuses;
use crate::tasks::state::set_active_tag;
use crate::tasks::{TagName, TaskProject};
use crate::work::WorkError;

/// The result of the merges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DependencyMerge {
    Ready,
    /// A merge with conflicts is open in the worktree. Conflicts in tasks.json and state.json are already resolved.
    Conflict {
        /// The branch that was being merged; `None` if the merge was open before.
        branch: Option<BranchName>,
        files: Vec<String>,
    },
}

/// Merges the branches one by one in the worktree at `top`. A merge that is already open is left as it is.
pub fn merge_dependencies(
    top: &Path,
    project: &TaskProject,
    tag: &TagName,
    branches: &[BranchName],
) -> Result<DependencyMerge, WorkError> {
    let git = Git::at(top);
    if is_merging(&git)? {
        return Ok(conflict(None, &conflicts(&git)?));
    }
    for branch in branches {
        let message = format!("Merge branch '{branch}'");
        let merged = git.run(["merge", "--quiet", "--message", &message, &branch.full_ref()]);
        let Err(error) = merged else { continue };
        let files = conflicts(&git)?;
        if files.is_empty() {
            if is_merging(&git)? {
                git.run(["merge", "--abort"])?;
            }
            return Err(error.into());
        }
        let left = resolve_own_files(&git, top, project, tag, branch, &files)?;
        if !left.is_empty() {
            return Ok(conflict(Some(branch.clone()), &left));
        }
        git.run(["commit", "--quiet", "--no-edit"])?;
    }
    Ok(DependencyMerge::Ready)
}

fn is_merging(git: &Git) -> Result<bool, GitError> {
    Ok(git.find_object("MERGE_HEAD", "commit")?.is_some())
}

fn conflict(branch: Option<BranchName>, files: &[PathBuf]) -> DependencyMerge {
    DependencyMerge::Conflict { branch, files: files.iter().map(|file| file.display().to_string()).collect() }
}

fn conflicts(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    use std::os::unix::ffi::OsStrExt as _;
    let names = git.run(["diff", "--name-only", "--diff-filter=U", "-z"])?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name))).collect())
}

/// Resolves conflicts in git paw's own files and returns the other files.
fn resolve_own_files(
    git: &Git,
    top: &Path,
    project: &TaskProject,
    tag: &TagName,
    branch: &BranchName,
    files: &[PathBuf],
) -> Result<Vec<PathBuf>, WorkError> {
    let mut left = Vec::new();
    for file in files {
        let side = |number: u8| side(git, number, file);
        let path = top.join(file);
        let text = if path == project.tasks_file() {
            match (side(1)?, side(2)?, side(3)?) {
                (Some(base), Some(ours), Some(theirs)) => merge_statuses(&base, &ours, &theirs, tag),
                _ => None,
            }
        } else if path == project.state_file() {
            let ours = side(2)?;
            set_active_tag(ours.as_deref(), tag, Some(branch.as_str()), clock::now()).ok()
        } else {
            None
        };
        let Some(text) = text else {
            left.push(file.clone());
            continue;
        };
        files::write_atomic(&path, text.as_bytes(), Access::Usual)?;
        git.run(["add".as_ref(), "--".as_ref(), path.as_os_str()])?;
    }
    Ok(left)
}

/// One side of a conflict, if that side has the file.
fn side(git: &Git, number: u8, file: &Path) -> Result<Option<String>, GitError> {
    let output = git.output(["cat-file", "blob", &format!(":{number}:{}", file.display())])?;
    Ok(output.exit.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}
