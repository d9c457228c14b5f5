//! The worktrees of a session's agents, one per branch: created, or resumed from an earlier session.

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
    /// Rebase an existing branch onto the default branch first.
    pub rebase_onto_main: bool,
    pub placement: WorktreePlacement,
}

impl SessionWorktree {
    pub fn new(branch: BranchName) -> Self {
        Self { branch, rebase_onto_main: false, placement: WorktreePlacement::Sibling }
    }
}

/// A worktree that was created or resumed for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCreation {
    pub id: WorktreeId,
    pub path: PathBuf,
    pub branch_created: bool,
    /// The worktree already existed, from an earlier session.
    pub resumed: bool,
    /// Messages for the user: a skipped rebase, a missing submodule, …
    pub notes: Vec<String>,
}

impl Worktrees {
    /// Resumes the worktree of a branch if it is at the expected path, or creates it. A branch that exists only on a
    /// remote is tracked; one that does not exist is created at the main checkout's commit.
    pub fn create_worktree(
        &self,
        repo_root: &Path,
        wanted: &SessionWorktree,
    ) -> Result<WorktreeCreation, PawError> {
        let mut made = self.create_worktrees(repo_root, std::slice::from_ref(wanted))?;
        made.pop().unwrap_or_else(|| Err(PawError::WorktreeError("no worktree was created".to_owned())))
    }

    /// Like [`Worktrees::create_worktree`] for several branches, with parallel checkouts.
    pub fn create_worktrees(
        &self,
        repo_root: &Path,
        wanted: &[SessionWorktree],
    ) -> Result<Vec<Result<WorktreeCreation, PawError>>, PawError> {
        self.create_worktrees_with_progress(repo_root, wanted, &|| {})
    }

    /// Like [`Worktrees::create_worktrees`]; calls `on_made` after each worktree that was created or failed.
    pub fn create_worktrees_with_progress(
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
        let results = found.into_iter().map(|found| match found {
            Ok(Some(resumed)) => Ok(resumed),
            Ok(None) => made.next().map_or_else(
                || Err(PawError::WorktreeError("no worktree was created".to_owned())),
                |made| made.map(WorktreeCreation::from).map_err(PawError::from),
            ),
            Err(error) => Err(error.into()),
        });
        Ok(results.collect())
    }

    /// Removes a worktree that was just created, and its branch if that was created too. A resumed worktree stays.
    pub fn undo_worktree(&self, made: &WorktreeCreation) -> Result<(), PawError> {
        if made.resumed {
            return Ok(());
        }
        let options =
            RemoveOptions { force: true, delete_branch: made.branch_created, ..RemoveOptions::default() };
        Ok(self.remove(made.id.as_str(), None, options).map(drop)?)
    }

    /// Removes the worktree at `path`, managed or not. Without `force` it must have no changes; with `force` they are
    /// stored first.
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
        let rows = self.registry.load_rows(Some(&repository_path(&repo.common_dir)))?;
        Ok(rows.into_iter().find(|row| row.path == path))
    }

    /// The worktree of an earlier session, if it is at the expected path and has the branch checked out.
    fn resume(
        &self,
        context: &SessionContext,
        wanted: &SessionWorktree,
    ) -> Result<Option<WorktreeCreation>, WorktreeError> {
        let path = context.directory(wanted);
        let matches = |entry: &&git::GitWorktree| {
            entry.path == path && entry.branch() == Some(&wanted.branch) && entry.prunable.is_none()
        };
        if !context.listed.iter().skip(1).any(|entry| matches(&entry)) || !path.exists() {
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

/// The path of the worktree of an agent on `branch`.
pub fn directory(repo: &Repo, branch: &BranchName, placement: WorktreePlacement) -> PathBuf {
    let name = check::project_name(repo).worktree_dir_name(branch);
    match placement {
        WorktreePlacement::Sibling => check::parent_directory(repo).join(name),
        WorktreePlacement::Child => CheckoutDir::of(&repo.root).worktrees().join(name),
    }
}

/// The repository state shared by all worktrees of a session.
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

    /// The branch to rebase onto, if any.
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

/// Adds an exclude rule, so that worktrees inside the repository are not listed as untracked files.
fn exclude_child_worktrees(lock: &ExcludeLock) -> Result<(), FileError> {
    let (rule, all) = (format!("/{}/", CheckoutDir::WORKTREES), format!("/{}/", CheckoutDir::NAME));
    lock.add(&format!("{rule}\n"), &[&rule, &all]).map(drop)
}
