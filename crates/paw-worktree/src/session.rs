//! The worktrees of a session's agents: one per branch, made or found again.

use std::path::{Path, PathBuf};

use paw_core::config::WorktreePlacement;
use paw_core::paths::CheckoutDir;
use paw_core::{BranchName, PawError};
use paw_host::files::FileError;
use paw_host::git::{self, Git, Repo};
use paw_host::locks::ExcludeLock;

use crate::check;
use crate::create::{BranchRule, CreatePlan, CreatedWorktree, real_path, rebase};
use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::list::list_worktrees_with_retry;
use crate::registry::ManagedWorktree;
use crate::remove::{RemoveOptions, RemovedWorktree};
use crate::service::{Worktrees, repository_path, require_repository};

/// A worktree that a session needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWorktree {
    pub branch: BranchName,
    /// Put an existing branch on top of the default branch first.
    pub rebase_onto_main: bool,
    pub placement: WorktreePlacement,
}

impl SessionWorktree {
    pub fn new(branch: BranchName) -> Self {
        Self { branch, rebase_onto_main: false, placement: WorktreePlacement::Sibling }
    }
}

/// A worktree that a session has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCreation {
    pub id: WorktreeId,
    pub path: PathBuf,
    pub branch_created: bool,
    /// It was there already, from an earlier session.
    pub resumed: bool,
    /// What the user should know: a rebase that was skipped, a submodule that is missing, …
    pub notes: Vec<String>,
}

impl Worktrees {
    /// The worktree of one branch: found where it is expected, or made. A branch that exists on a remote is tracked,
    /// one that exists nowhere is made from the main checkout's commit.
    pub fn create_worktree(
        &self,
        repo_root: &Path,
        wanted: &SessionWorktree,
    ) -> Result<WorktreeCreation, PawError> {
        let mut made = self.create_worktrees(repo_root, std::slice::from_ref(wanted))?;
        made.pop().unwrap_or_else(|| Err(PawError::WorktreeError("nothing was made".to_owned())))
    }

    /// Like [`Worktrees::create_worktree`] for each of them, checked out side by side.
    pub fn create_worktrees(
        &self,
        repo_root: &Path,
        wanted: &[SessionWorktree],
    ) -> Result<Vec<Result<WorktreeCreation, PawError>>, PawError> {
        self.create_worktrees_watched(repo_root, wanted, &|| {})
    }

    /// Like [`Worktrees::create_worktrees`]; `on_made` is told of each one that was made or could not be.
    pub fn create_worktrees_watched(
        &self,
        repo_root: &Path,
        wanted: &[SessionWorktree],
        on_made: &(dyn Fn() + Sync),
    ) -> Result<Vec<Result<WorktreeCreation, PawError>>, PawError> {
        let context = SessionContext::load(repo_root, wanted)?;
        let found: Vec<_> = wanted.iter().map(|wanted| self.resume(&context, wanted)).collect();
        let missing: Vec<_> =
            wanted.iter().zip(&found).filter(|(_, found)| matches!(found, Ok(None))).collect();
        let plans = missing.iter().map(|(wanted, _)| context.plan(wanted));
        let mut made = self.create_all(plans, on_made).into_iter();
        let answers = found.into_iter().map(|found| match found {
            Ok(Some(resumed)) => Ok(resumed),
            Ok(None) => made.next().map_or_else(
                || Err(PawError::WorktreeError("nothing was made".to_owned())),
                |made| made.map(WorktreeCreation::from).map_err(PawError::from),
            ),
            Err(error) => Err(error.into()),
        });
        Ok(answers.collect())
    }

    /// Takes back a worktree that was just made, with its branch if that was made for it. One that was there before
    /// stays as it is.
    pub fn undo_worktree(&self, made: &WorktreeCreation) -> Result<(), PawError> {
        if made.resumed {
            return Ok(());
        }
        let options =
            RemoveOptions { force: true, delete_branch: made.branch_created, ..RemoveOptions::default() };
        Ok(self.remove(made.id.as_str(), None, options).map(drop)?)
    }

    /// Deletes the worktree at `path`, whoever made it, and makes git forget it. Changes are stored first; without
    /// `force` there must be none.
    pub fn remove_worktree(
        &self,
        repo_root: &Path,
        path: &Path,
        force: bool,
    ) -> Result<RemovedWorktree, PawError> {
        let repo = require_repository(repo_root)?;
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let row = match self.find_at(&repo, &real)? {
            Some(row) => row,
            None => self.adopt(&real)?,
        };
        Ok(self.remove(row.id.as_str(), None, RemoveOptions { force, ..RemoveOptions::default() })?)
    }

    fn find_at(&self, repo: &Repo, path: &Path) -> Result<Option<ManagedWorktree>, WorktreeError> {
        let rows = self.registry.rows(Some(&repository_path(&repo.common_dir)))?;
        Ok(rows.into_iter().find(|row| row.path == path))
    }

    /// The worktree of an earlier session, if it is where it would be made and has the branch.
    fn resume(
        &self,
        context: &SessionContext,
        wanted: &SessionWorktree,
    ) -> Result<Option<WorktreeCreation>, WorktreeError> {
        let path = context.directory(wanted);
        let is_it = |entry: &&git::GitWorktree| {
            entry.path == path && entry.branch() == Some(&wanted.branch) && entry.prunable.is_none()
        };
        if !context.listed.iter().skip(1).any(|entry| is_it(&entry)) || !path.exists() {
            return Ok(None);
        }
        let mut notes = Vec::new();
        if let Some(onto) = context.onto(wanted) {
            let git = Git::at(&path);
            if git.status()?.is_empty() {
                notes.extend(rebase(&context.repo, &git, &wanted.branch, onto)?);
            } else {
                notes.push(format!("{} has uncommitted changes: not rebased onto {onto}", wanted.branch));
            }
        }
        let row = match self.find_at(&context.repo, &path)? {
            Some(row) => self.refresh(row)?,
            None => self.adopt(&path)?,
        };
        Ok(Some(WorktreeCreation { id: row.id, path, branch_created: false, resumed: true, notes }))
    }
}

/// Where the worktree of an agent on `branch` is, or would be made.
pub fn directory(repo: &Repo, branch: &BranchName, placement: WorktreePlacement) -> PathBuf {
    let name = check::project_name(repo).worktree_dir_name(branch);
    match placement {
        WorktreePlacement::Sibling => check::parent_directory(repo).join(name),
        WorktreePlacement::Child => CheckoutDir::of(&repo.root).worktrees().join(name),
    }
}

/// What is the same for all worktrees of a session.
struct SessionContext {
    repo: Repo,
    listed: Vec<git::GitWorktree>,
    default_branch: Option<BranchName>,
}

impl SessionContext {
    fn load(repo_root: &Path, wanted: &[SessionWorktree]) -> Result<Self, WorktreeError> {
        let repo = require_repository(repo_root)?;
        let listed = list_worktrees_with_retry(&repo.git(), &repo.common_dir)?;
        let default_branch = if wanted.iter().any(|wanted| wanted.rebase_onto_main) {
            repo.git().find_default_branch()?
        } else {
            None
        };
        if wanted.iter().any(|wanted| wanted.placement == WorktreePlacement::Child) {
            exclude_child_worktrees(&ExcludeLock::wait(&repo.common_dir)?)?;
        }
        Ok(Self { repo, listed, default_branch })
    }

    fn directory(&self, wanted: &SessionWorktree) -> PathBuf {
        directory(&self.repo, &wanted.branch, wanted.placement)
    }

    /// What the branch is rebased onto, if anything.
    fn onto(&self, wanted: &SessionWorktree) -> Option<&BranchName> {
        self.default_branch.as_ref().filter(|default| wanted.rebase_onto_main && **default != wanted.branch)
    }

    fn plan(&self, wanted: &SessionWorktree) -> Result<CreatePlan, WorktreeError> {
        Ok(CreatePlan {
            repo: self.repo.clone(),
            branch: wanted.branch.clone(),
            name: wanted.branch.directory_part(),
            path: real_path(&self.directory(wanted), &self.repo)?,
            rule: BranchRule::Any,
            rebase_onto: self.onto(wanted).cloned(),
        })
    }
}

impl From<CreatedWorktree> for WorktreeCreation {
    fn from(created: CreatedWorktree) -> Self {
        let row = created.worktree;
        let branch_created = row.created_branch;
        Self { id: row.id, path: row.path, branch_created, resumed: false, notes: created.notes }
    }
}

/// Worktrees inside the repository must not show up as its untracked files.
fn exclude_child_worktrees(lock: &ExcludeLock) -> Result<(), FileError> {
    let (rule, all) = (format!("/{}/", CheckoutDir::WORKTREES), format!("/{}/", CheckoutDir::NAME));
    lock.add(&format!("{rule}\n"), &[&rule, &all]).map(drop)
}
