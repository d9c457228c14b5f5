//! Creating worktrees atomically.
//!
//! A row is inserted before git changes anything. Each repository registers one worktree at a time; checkouts run in
//! parallel. A failed creation is rolled back (`rollback`); the next process rolls back one that a crash interrupted
//! (`recover`).

mod batch;
mod plan;
mod stale;

use std::path::{Path, PathBuf};
use std::thread;

use paw_core::BranchName;
use paw_core::config::{Layer, PawConfig};
use paw_host::git::{self, BranchSource, BranchState, Git, GitError, RebaseOutcome, Repo};
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

/// A worktree to create, as the user requested it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateRequest {
    /// The repository, or any directory in it.
    pub repo_path: PathBuf,
    pub branch: String,
    /// Defaults to the last segment of the branch.
    pub name: Option<String>,
    /// Defaults to `<project>-<name>` next to the repository. A relative path starts at `repo_path`.
    pub path: Option<PathBuf>,
    /// Create the branch at the main checkout's commit. Otherwise the branch must exist.
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

/// A slow step of a creation, for progress messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateStep {
    CheckingOut,
    FillingSubmodules,
    Rebasing,
}

/// A worktree that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedWorktree {
    pub worktree: ManagedWorktree,
    pub repo: Repo,
    /// Problems that do not fail the creation, such as a submodule that cannot be fetched.
    pub notes: Vec<String>,
}

/// The files to copy and the setup to run in a new worktree, from the configuration and the user's approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Patterns of ignored files to copy from the main checkout.
    pub copy: Vec<String>,
    pub setup: SetupPlan,
}

impl Preparation {
    /// The configured preparation. Steps that come from the repository itself are not approved yet.
    pub fn from_config(config: &PawConfig, repository: &Layer, repo: &Repo) -> Self {
        Self { copy: config.worktree.copy.clone(), setup: setup::plan(config, repository, &repo.root) }
    }

    /// Marks the setup as approved if the user has approved exactly these steps before.
    pub fn apply_approvals(self, store: &TrustStore, repo: &Repo) -> Result<Self, TrustError> {
        Ok(Self { setup: self.setup.apply_approvals(store, repo)?, ..self })
    }
}

/// The result of preparing a worktree.
#[derive(Debug)]
pub struct PreparedWorktree {
    pub worktree: ManagedWorktree,
    pub copy: CopyReport,
    pub setup: SetupOutcome,
    /// Why files were not copied.
    pub notes: Vec<String>,
}

impl Worktrees {
    /// Checks the request, then creates the worktree. [`Worktrees::prepare`] copies files and runs the setup.
    pub fn create(
        &self,
        request: &CreateRequest,
        on_step: &mut dyn FnMut(CreateStep),
    ) -> Result<CreatedWorktree, WorktreeError> {
        let plan = plan_for(request)?;
        let registered = self.register(&plan, 0)?;
        self.complete(registered, on_step)
    }

    /// Creates several worktrees: registers one after the other, and checks out in parallel. Each succeeds or fails on
    /// its own.
    pub fn create_many(&self, requests: &[CreateRequest]) -> Vec<Result<CreatedWorktree, WorktreeError>> {
        self.create_all(requests.iter().map(plan_for), &|| {})
    }

    /// Copies ignored files and runs the setup. A failed setup is recorded; the worktree stays.
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
                notes.push(error.to_string());
                CopyReport::default()
            })
        };
        let setup = if preparation.setup.is_empty() {
            SetupOutcome { status: SetupStatus::None, error: None }
        } else {
            // Other processes read this only if we die before the setup finishes.
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

    /// Checks branch, path and disk space; then inserts the row, creates the branch and registers the worktree with git.
    /// `reserved` is what other worktrees still need for their files, in bytes.
    pub(crate) fn register(
        &self,
        plan: &CreatePlan,
        reserved: u64,
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
        let required_bytes = self.require_space(plan, &state, &start, reserved)?;
        self.release_stale_path(plan, &lock)?;

        let row = plan.row(&source, start, now());
        let operation = self.try_begin(&row.id)?.ok_or_else(|| WorktreeError::Busy { id: row.id.clone() })?;
        // The path does not exist, so a finished row for it is a leftover.
        self.registry.delete_finished(&row.path)?;
        self.registry.insert(&row)?;
        crash::point("create:row");
        let mut registered = RegisteredWorktree {
            row,
            repo: plan.repo.clone(),
            rebase_onto: plan.rebase_onto.clone().filter(|_| source == BranchSource::Existing),
            operation,
            required_bytes,
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

    /// Checks out a registered worktree, or rolls its registration back.
    pub(crate) fn complete(
        &self,
        registered: RegisteredWorktree,
        on_step: &mut dyn FnMut(CreateStep),
    ) -> Result<CreatedWorktree, WorktreeError> {
        let RegisteredWorktree { row, repo, rebase_onto, operation, .. } = registered;
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

    /// Returns what the files of the commit `start` need, in bytes.
    fn require_space(
        &self,
        plan: &CreatePlan,
        state: &BranchState,
        start: &str,
        reserved: u64,
    ) -> Result<u64, WorktreeError> {
        let available_bytes = self.free_bytes(&plan.path);
        let fits = |bytes: u64| {
            let required = check::required_bytes(bytes);
            (required.saturating_add(reserved) <= available_bytes).then_some(required)
        };
        if let Some(required) = find_most_bytes(&plan.repo, state, start).and_then(fits) {
            return Ok(required);
        }
        let exact = plan.repo.git().tree_bytes(start)?;
        let required_bytes = check::required_bytes(exact).saturating_add(reserved);
        fits(exact).ok_or(WorktreeError::DiskFull { required_bytes, available_bytes })
    }
}

/// An upper limit for the size of a commit's files, faster than their exact size: the index of the main checkout, plus what
/// the commit adds to it.
fn find_most_bytes(repo: &Repo, state: &BranchState, start: &str) -> Option<u64> {
    let main = git::find_indexed_checkout(&repo.common_dir.join("index"))?;
    let of = |commit: &Option<String>| commit.as_deref() == Some(start);
    let tree = if of(&state.commit) { &state.tree } else { &state.main_tree };
    if (of(&state.commit) || of(&state.main_commit)) && tree.as_ref() == Some(&main.tree) {
        return Some(main.bytes);
    }
    // The main checkout's tree may exist only in its index.
    let added = repo.git().added_bytes(&main.tree, start).ok()?;
    Some(main.bytes.saturating_add(added))
}

/// Checks the arguments and the repository, which needs no lock.
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

/// A worktree that is registered with git, but not checked out yet.
#[derive(Debug)]
pub(crate) struct RegisteredWorktree {
    pub(crate) row: ManagedWorktree,
    repo: Repo,
    rebase_onto: Option<BranchName>,
    operation: OperationGuard,
    /// What its files need on the disk.
    required_bytes: u64,
}

fn populate(
    row: &ManagedWorktree,
    repo: &Repo,
    rebase_onto: Option<&BranchName>,
    on_step: &mut dyn FnMut(CreateStep),
) -> Result<Vec<String>, WorktreeError> {
    let git = Git::at(&row.path);
    on_step(CreateStep::CheckingOut);
    // Locating the hook spawns a process, so it runs during the checkout.
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
        notes.extend(problems.iter().map(|problem| format!("submodule not checked out: {problem}")));
    }
    Ok(notes)
}

/// Rebases the branch that is checked out where `git` runs. If commits are rewritten, the old tip is stored as a rescue.
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
    match git.rebase_onto(onto)? {
        RebaseOutcome::Done => Ok(kept
            .map(|kept| format!("rebased {branch} onto {onto}; the old tip is kept as {}", kept.reference))),
        RebaseOutcome::Failed { output, conflicts } => {
            // The failed rebase left the branch unchanged, so the rescue is not needed.
            if let Some(kept) = kept {
                let _ = rescue::forget(repo, &kept.id);
            }
            Err(WorktreeError::RebaseFailed { stderr: output, files: conflicts })
        }
    }
}

fn creation_failed(error: GitError) -> WorktreeError {
    match error {
        GitError::NotInstalled => error.into(),
        other => WorktreeError::CreationFailed { stderr: git_stderr(other) },
    }
}

/// The stderr of git if there is any, otherwise the error's message.
pub(crate) fn git_stderr(error: GitError) -> String {
    match error {
        GitError::Failed { stderr, .. } if !stderr.trim().is_empty() => stderr.trim().to_owned(),
        other => other.to_string(),
    }
}

impl CreatePlan {
    /// The row of the worktree before its creation.
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

/// The topmost directory of `path` that does not exist yet.
pub(crate) fn topmost_missing(path: &Path) -> PathBuf {
    path.ancestors().take_while(|dir| !dir.exists()).last().unwrap_or(path).to_path_buf()
}
