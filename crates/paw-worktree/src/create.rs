//! Making worktrees: all of it or nothing.
//!
//! A row says what is about to be made before git is touched. Registration happens one at a time per repository, the
//! checkout beside others. Whatever fails is undone (`rollback`), whatever a crash interrupts is undone by the next
//! process (`recover`).

mod batch;
mod plan;
mod stale;

use std::path::{Path, PathBuf};
use std::thread;

use paw_core::BranchName;
use paw_core::config::{Layer, PawConfig};
use paw_host::git::{self, BranchSource, Git, GitError, Repo};
use paw_host::locks::WorktreesLock;
use paw_host::trust::{TrustError, TrustStore};

pub(crate) use plan::{BranchRule, CreatePlan, real_path};

use crate::check;
use crate::copy::{self, CopyReport};
use crate::crash;
use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::registry::{ManagedWorktree, WorktreeStatus};
use crate::rescue;
use crate::service::{OperationGuard, Worktrees, now, repository_path, require_repository};
use crate::setup::{self, SetupOutcome, SetupPlan, SetupStatus};

/// What somebody asks for, as they wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateRequest {
    /// The repository, or any directory in it.
    pub repo_path: PathBuf,
    pub branch: String,
    /// Without it, the last part of the branch.
    pub name: Option<String>,
    /// Without it, `<project>-<name>` beside the repository. A relative one starts at `repo_path`.
    pub path: Option<PathBuf>,
    /// Make the branch, at the commit that the main checkout has. Without it the branch must exist.
    pub create_branch: bool,
}

impl CreateRequest {
    pub fn new(repo_path: impl Into<PathBuf>, branch: impl Into<String>) -> Self {
        Self {
            repo_path: repo_path.into(),
            branch: branch.into(),
            name: None,
            path: None,
            create_branch: false,
        }
    }
}

/// How far a creation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateStep {
    CheckingOut,
    FillingSubmodules,
    Rebasing,
}

/// A worktree that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedWorktree {
    pub worktree: ManagedWorktree,
    pub repo: Repo,
    /// What did not work and does not matter enough to undo everything, such as a submodule that cannot be fetched.
    pub notes: Vec<String>,
}

/// What makes a fresh worktree ready, decided by whoever knows the configuration and what the user trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Patterns of ignored files to bring along.
    pub copy: Vec<String>,
    pub setup: SetupPlan,
}

impl Preparation {
    /// What the configuration asks for. Steps of the repository itself need approval before they run.
    pub fn from_config(config: &PawConfig, repository: &Layer, repo: &Repo) -> Self {
        Self { copy: config.worktree.copy.clone(), setup: setup::plan(config, repository, &repo.root) }
    }

    /// The same, approved if the user has approved exactly these steps before.
    pub fn checked(self, store: &TrustStore, repo: &Repo) -> Result<Self, TrustError> {
        Ok(Self { setup: self.setup.checked(store, repo)?, ..self })
    }
}

/// A worktree that was made ready, as far as that worked.
#[derive(Debug)]
pub struct PreparedWorktree {
    pub worktree: ManagedWorktree,
    pub copy: CopyReport,
    pub setup: SetupOutcome,
    /// What could not be brought along.
    pub notes: Vec<String>,
}

impl Worktrees {
    /// Checks everything, then makes the worktree. Setup and copied files come with [`Worktrees::prepare`].
    pub fn create(
        &self,
        request: &CreateRequest,
        on_step: &mut dyn FnMut(CreateStep),
    ) -> Result<CreatedWorktree, WorktreeError> {
        let plan = plan_for(request)?;
        let registered = self.register(&plan, 1)?;
        self.complete(registered, on_step)
    }

    /// Several at once, each of them made or refused by itself: registered one after the other, checked out side by side.
    pub fn create_many(&self, requests: &[CreateRequest]) -> Vec<Result<CreatedWorktree, WorktreeError>> {
        self.create_all(requests.iter().map(plan_for), &|| {})
    }

    /// Brings ignored files along and runs the setup. A setup that fails is remembered; the worktree stays.
    pub fn prepare(
        &self,
        created: &CreatedWorktree,
        preparation: &Preparation,
        on_line: impl FnMut(&str),
    ) -> Result<PreparedWorktree, WorktreeError> {
        let row = &created.worktree;
        let mut notes = Vec::new();
        let copy = if preparation.copy.is_empty() || created.repo.bare {
            CopyReport::default()
        } else {
            copy::copy_ignored(&preparation.copy, &created.repo.root, &row.path).unwrap_or_else(|error| {
                tracing::warn!("{error}");
                notes.push(error.to_string());
                CopyReport::default()
            })
        };
        let setup = if preparation.setup.is_empty() {
            SetupOutcome { status: SetupStatus::None, error: None }
        } else {
            // Read by others only if we die before it is over.
            let interrupted = Some("Setup was interrupted".to_owned());
            self.registry
                .set_setup(&row.id, &SetupOutcome { status: SetupStatus::Failed, error: interrupted })?;
            let outcome = setup::run(&preparation.setup, &row.path, &row.branch, on_line);
            self.registry.set_setup(&row.id, &outcome)?;
            outcome
        };
        Ok(PreparedWorktree {
            worktree: ManagedWorktree { setup: setup.clone(), ..row.clone() },
            copy,
            setup,
            notes,
        })
    }

    /// Branch, path and disk; then the row, the branch and git's registration. `pending` worktrees, this one included,
    /// still have to find room on the disk.
    pub(crate) fn register(
        &self,
        plan: &CreatePlan,
        pending: u64,
    ) -> Result<RegisteredWorktree, WorktreeError> {
        self.recover()?;
        let lock = WorktreesLock::wait(&plan.repo.common_dir)?;
        let git = plan.repo.git();
        let state =
            self.release_stale_branch(plan, git.branch_state(&plan.branch, &plan.repo.common_dir)?, &lock)?;
        let (source, start) = plan.source(&git, &state)?;
        if plan.path.symlink_metadata().is_ok() {
            return Err(WorktreeError::PathExists(plan.path.clone()));
        }
        self.require_space(plan, &start, pending)?;
        self.release_stale_path(plan, &lock)?;

        let row = plan.row(&source, start, now());
        let operation = self.try_begin(&row.id)?.ok_or_else(|| WorktreeError::Busy { id: row.id.clone() })?;
        // Nothing is there any more, so whatever was written down about it was removed by somebody else.
        self.registry.delete_finished(&row.path)?;
        self.registry.insert(&row)?;
        crash::point("create:row");
        let mut registered = RegisteredWorktree {
            row,
            repo: plan.repo.clone(),
            rebase_onto: plan.rebase_onto.clone().filter(|_| source == BranchSource::Existing),
            operation,
        };
        if let Err(error) = git.register_worktree(&plan.path, &plan.branch, &source, &lock) {
            self.undo_creation(&registered.row, &lock);
            return Err(creation_failed(error));
        }
        crash::point("create:registered");
        registered.row.admin_dir = git::find_linked_admin_dir(&plan.path);
        if let Some(admin_dir) = &registered.row.admin_dir {
            self.registry.set_admin_dir(&registered.row.id, admin_dir)?;
        }
        Ok(registered)
    }

    /// Fills a registered worktree, or takes the registration back.
    pub(crate) fn complete(
        &self,
        registered: RegisteredWorktree,
        on_step: &mut dyn FnMut(CreateStep),
    ) -> Result<CreatedWorktree, WorktreeError> {
        let RegisteredWorktree { row, repo, rebase_onto, operation } = registered;
        match populate(&row, &repo, rebase_onto.as_ref(), on_step) {
            Ok(notes) => {
                crash::point("create:filled");
                let now = now();
                self.registry.change_status(
                    &row.id,
                    WorktreeStatus::Creating,
                    WorktreeStatus::Active,
                    None,
                    now,
                )?;
                crash::point("create:active");
                drop(operation);
                Ok(CreatedWorktree {
                    worktree: ManagedWorktree { status: WorktreeStatus::Active, updated_at: now, ..row },
                    repo,
                    notes,
                })
            }
            Err(error) => {
                let lock = WorktreesLock::wait(&repo.common_dir)?;
                self.undo_creation(&row, &lock);
                Err(error)
            }
        }
    }

    fn require_space(&self, plan: &CreatePlan, tree: &str, pending: u64) -> Result<(), WorktreeError> {
        let available_bytes = self.free_bytes(&plan.path);
        let checkout_bytes = git::find_checkout_bytes(&plan.repo.common_dir.join("index"));
        if check::has_ample_space(available_bytes, checkout_bytes, pending) {
            return Ok(());
        }
        let required_bytes = check::required_bytes(plan.repo.git().tree_bytes(tree)?).saturating_mul(pending);
        if required_bytes > available_bytes {
            return Err(WorktreeError::DiskFull { required_bytes, available_bytes });
        }
        Ok(())
    }
}

/// CreateArguments and repository: what can be checked without anybody else having to wait.
fn plan_for(request: &CreateRequest) -> Result<CreatePlan, WorktreeError> {
    let arguments = check::check_arguments(request)?;
    let repo = require_repository(&request.repo_path)?;
    let path = match &request.path {
        None => check::default_directory(&repo, &arguments.name),
        Some(path) => request.repo_path.join(path),
    };
    let rule = if request.create_branch { BranchRule::New } else { BranchRule::Existing };
    Ok(CreatePlan {
        path: real_path(&path, &repo)?,
        repo,
        branch: arguments.branch,
        name: arguments.name,
        rule,
        rebase_onto: None,
    })
}

/// A worktree that git knows and that holds no file yet.
#[derive(Debug)]
pub(crate) struct RegisteredWorktree {
    pub(crate) row: ManagedWorktree,
    repo: Repo,
    rebase_onto: Option<BranchName>,
    operation: OperationGuard,
}

fn populate(
    row: &ManagedWorktree,
    repo: &Repo,
    rebase_onto: Option<&BranchName>,
    on_step: &mut dyn FnMut(CreateStep),
) -> Result<Vec<String>, WorktreeError> {
    let git = Git::at(&row.path);
    on_step(CreateStep::CheckingOut);
    // Where the hook is takes a process to find out, which need not wait for the files.
    let (checked_out, hook) = thread::scope(|scope| {
        let hook = scope.spawn(|| git.post_checkout_hook());
        (git.check_out_files(), hook.join())
    });
    checked_out.map_err(creation_failed)?;
    crash::point("create:checked-out");
    let hook = hook.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(creation_failed)?;
    git.run_post_checkout(&hook, &row.start).map_err(creation_failed)?;
    crash::point("create:hook-ran");
    let mut notes = Vec::new();
    if let Some(onto) = rebase_onto {
        on_step(CreateStep::Rebasing);
        notes.extend(rebase(repo, &git, &row.branch, onto)?);
    }
    if !repo.bare && row.path.join(".gitmodules").is_file() {
        on_step(CreateStep::FillingSubmodules);
        let problems = git::fill_submodules(&repo.root, &row.path).map_err(creation_failed)?;
        notes.extend(problems.iter().map(|problem| format!("submodule not filled: {problem}")));
    }
    Ok(notes)
}

/// Rebases the branch that is checked out where `git` runs, and keeps its old tip when commits were rewritten.
pub(crate) fn rebase(
    repo: &Repo,
    git: &Git,
    branch: &BranchName,
    onto: &BranchName,
) -> Result<Option<String>, WorktreeError> {
    if git.is_ancestor(&onto.full_ref(), &branch.full_ref())? {
        return Ok(None);
    }
    let forward = git.is_ancestor(&branch.full_ref(), &onto.full_ref())?;
    let kept = if forward { None } else { Some(rescue::store_tip(repo, branch, "before rebase")?) };
    match git.rebase_onto(onto) {
        Ok(()) => {
            Ok(kept.map(|kept| format!("rebased {branch} onto {onto}; its old tip is {}", kept.reference)))
        }
        Err(error) => {
            // The branch is where it was, so there is nothing to keep.
            if let Some(kept) = kept {
                let _ = rescue::forget(repo, &kept.id);
            }
            Err(WorktreeError::RebaseFailed { stderr: git_stderr(error) })
        }
    }
}

fn creation_failed(error: GitError) -> WorktreeError {
    match error {
        GitError::NotInstalled => error.into(),
        other => WorktreeError::CreationFailed { stderr: git_stderr(other) },
    }
}

/// What git itself said where it said something, else what we know.
pub(crate) fn git_stderr(error: GitError) -> String {
    match error {
        GitError::Failed { stderr, .. } if !stderr.trim().is_empty() => stderr.trim().to_owned(),
        other => other.to_string(),
    }
}

impl CreatePlan {
    /// The row of a worktree that is about to be made.
    fn row(&self, source: &BranchSource, start: String, now: jiff::Timestamp) -> ManagedWorktree {
        ManagedWorktree {
            id: WorktreeId::generate(),
            name: self.name.clone(),
            path: self.path.clone(),
            repo: repository_path(&self.repo.common_dir),
            common_dir: self.repo.common_dir.clone(),
            branch: self.branch.clone(),
            status: WorktreeStatus::Creating,
            message: None,
            created_branch: *source != BranchSource::Existing,
            start,
            admin_dir: None,
            topmost_made: topmost_missing(&self.path),
            setup: SetupOutcome { status: SetupStatus::None, error: None },
            adopted: false,
            created_at: now,
            updated_at: now,
        }
    }
}

/// The first directory on the way to `path` that does not exist yet.
fn topmost_missing(path: &Path) -> PathBuf {
    path.ancestors().take_while(|dir| !dir.exists()).last().unwrap_or(path).to_path_buf()
}
