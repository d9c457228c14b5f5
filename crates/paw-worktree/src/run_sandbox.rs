//! The sandbox of a run in a checkout: gates, setup, tests and coverage.
//!
//! At level `guard` a run cannot see our keys, tokens and messages, and cannot change the repository's git directory, its
//! main checkout and its other worktrees. Its own checkout is writable; everything else is as without a sandbox.

use std::path::{Path, PathBuf};

use paw_core::config::SandboxLevel;
use paw_core::paths::{CheckoutDir, PawDir};
use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError};
use paw_host::caller::RUN_VARIABLE;
use paw_host::config::load_config;
use paw_host::files::{self, Dirs};
use paw_host::git::{GitError, Repo};
use paw_host::process::Command;
use paw_host::sandbox::{self, DeniedPaths, PathAccess, Sandbox};
use paw_host::tmux;

use crate::registry::{ManagedWorktree, Registry};

/// A run that has to be sandboxed cannot be.
#[derive(Debug, thiserror::Error)]
pub enum RunSandboxError {
    #[error("[sandbox] runs = \"guard\" is set, but {0}")]
    NoEngine(String),
    #[error(transparent)]
    Config(PawError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Diagnostic for RunSandboxError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::NoEngine(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self).hint(
                "install bubblewrap, or remove the setting to run without a sandbox where there is none",
            ),
            Self::Config(error) => error.report(),
            Self::Git(error) => error.report(),
        }
    }
}

/// What runs in a checkout may read and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSandbox {
    checkout: PathBuf,
    /// `None` at level `off`.
    sandbox: Option<Sandbox>,
}

/// The level in force for a configured one. Without a setting it is `guard` where sandboxes work.
pub fn level_in_force(configured: Option<SandboxLevel>) -> Result<SandboxLevel, RunSandboxError> {
    match (configured, sandbox::require_engine()) {
        (Some(SandboxLevel::Off), _) | (None, Err(_)) => Ok(SandboxLevel::Off),
        (Some(SandboxLevel::Guard) | None, Ok(())) => Ok(SandboxLevel::Guard),
        (Some(SandboxLevel::Guard), Err(reason)) => Err(RunSandboxError::NoEngine(reason)),
    }
}

impl RunSandbox {
    /// The sandbox for runs in `checkout`. `repo` is the repository to protect: never one that was found through the
    /// checkout's own `.git` file, which an agent can change.
    pub fn open(
        configured: Option<SandboxLevel>,
        repo: &Repo,
        checkout: &Path,
    ) -> Result<Self, RunSandboxError> {
        let sandbox = match level_in_force(configured)? {
            SandboxLevel::Off => None,
            SandboxLevel::Guard => Some(guard(repo, checkout)?),
        };
        Ok(Self { checkout: checkout.to_path_buf(), sandbox })
    }

    /// The sandbox for runs in a checkout, as the configuration of its repository says. The registry knows the repository of
    /// a worktree: its `.git` file can be changed by the agent in it. Off outside of repositories.
    pub fn find(checkout: &Path) -> Result<Self, RunSandboxError> {
        let registered = find_registered(checkout);
        let registered = registered.and_then(|row| Some((Repo::discover(&row.repo).ok()?, row.path)));
        let (repo, top) = if let Some(registered) = registered {
            registered
        } else {
            let Ok(repo) = Repo::discover(checkout) else { return Ok(Self::off(checkout)) };
            let top = repo.worktree.clone().unwrap_or_else(|| checkout.to_path_buf());
            (repo, top)
        };
        let config = load_config(&repo.root, None).map_err(RunSandboxError::Config)?;
        Self::open(config.sandbox.runs, &repo, &top)
    }

    /// No sandbox.
    pub fn off(checkout: &Path) -> Self {
        Self { checkout: checkout.to_path_buf(), sandbox: None }
    }

    pub fn level(&self) -> SandboxLevel {
        if self.sandbox.is_some() { SandboxLevel::Guard } else { SandboxLevel::Off }
    }

    /// Lets runs read a file of ours that they are told about.
    #[must_use]
    pub fn readable(mut self, file: &Path) -> Self {
        self.sandbox = self.sandbox.map(|sandbox| sandbox.with(file, PathAccess::ReadOnly));
        self
    }

    /// The command inside of the sandbox. What it starts is not the user, and ends with it.
    pub fn apply(&self, command: Command) -> Command {
        let command = command.env(RUN_VARIABLE, "1");
        match &self.sandbox {
            Some(sandbox) => command.sandbox(sandbox),
            None => command.contained(),
        }
    }

    /// Collects what a run was denied, line by line.
    pub fn denied_paths(&self) -> Option<DeniedPaths<'_>> {
        self.sandbox.as_ref().map(|sandbox| DeniedPaths::new(sandbox, &self.checkout))
    }

    /// Which protected path a failed run wanted, judged by its output.
    pub fn note(&self, output: &str) -> Option<String> {
        let mut denied = self.denied_paths()?;
        output.lines().for_each(|line| denied.read(line));
        denied.note()
    }
}

/// The registered worktree that contains `dir`.
fn find_registered(dir: &Path) -> Option<ManagedWorktree> {
    let file = Dirs::from_env().ok()?.data().registry();
    let real = dir.canonicalize().ok()?;
    let rows = file.is_file().then(|| Registry::open(&file).ok()?.load_rows(None).ok())??;
    let is_it = |row: &ManagedWorktree| row.path.canonicalize().is_ok_and(|path| real.starts_with(path));
    rows.into_iter().filter(is_it).max_by_key(|row| row.path.components().count())
}

fn guard(repo: &Repo, checkout: &Path) -> Result<Sandbox, GitError> {
    let mut sandbox = Sandbox::default().with(&repo.root, PathAccess::ReadOnly);
    let messages = PawDir::of(&repo.common_dir);
    // What is created while a run is running has to be hidden, too.
    let mut hidden = vec![messages.path().to_path_buf()];
    if let Ok(dirs) = Dirs::from_env() {
        sandbox = sandbox.with(dirs.config_dir(), PathAccess::ReadOnly);
        hidden.extend([dirs.data_dir().to_path_buf(), dirs.runtime().path().to_path_buf()]);
    }
    for dir in hidden.iter().filter(|dir| !dir.exists()) {
        if let Err(error) = files::create_private_dir(dir) {
            tracing::debug!(target: "paw::sandbox", "{error}");
        }
    }
    hidden.extend(audit_trails(&CheckoutDir::of(&repo.root)));
    hidden.extend(tmux::socket_dirs());
    sandbox = hidden.iter().fold(sandbox, |sandbox, path| sandbox.with(path, PathAccess::Hidden));
    sandbox = sandbox.with(&repo.common_dir, PathAccess::ReadOnly);
    for worktree in repo.git().worktrees()? {
        // Other checkouts for gates stay hidden.
        if sandbox.access(&worktree.path) == PathAccess::Writable {
            sandbox = sandbox.with(&worktree.path, PathAccess::ReadOnly);
        }
    }
    sandbox = sandbox.with(checkout, PathAccess::Writable);
    // A file names the git directory of a worktree; a directory of its own is a copy. That of the main checkout has a rule.
    let git = checkout.join(".git");
    Ok(if git.is_file() { sandbox.with(&git, PathAccess::ReadOnly) } else { sandbox })
}

/// The messages as text, rotated files included, and the logs of panes.
fn audit_trails(ours: &CheckoutDir) -> Vec<PathBuf> {
    let trail = ours.audit_trail();
    let name = trail.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = std::fs::read_dir(ours.path()).into_iter().flatten().filter_map(Result::ok);
    let is_trail = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&name);
    entries.filter(is_trail).map(|entry| entry.path()).chain([ours.logs()]).collect()
}
