//! What gates and setup may do while they run.

use std::path::Path;

use paw_core::config::SandboxLevel;
use paw_host::git::Repo;
use paw_host::process::Command;
use paw_worktree::{RunSandbox, RunSandboxError};

/// The limits of runs in one checkout: every process ends with its run, and the configured sandbox.
#[derive(Debug)]
pub(super) struct Confinement(RunSandbox);

impl Confinement {
    /// `readable` is a file of ours that the gates are told about.
    pub(super) fn open(
        configured: Option<SandboxLevel>,
        repo: &Repo,
        checkout: &Path,
        readable: Option<&Path>,
    ) -> Result<Self, RunSandboxError> {
        let sandbox = RunSandbox::open(configured, repo, checkout)?;
        Ok(Self(match readable {
            Some(file) => sandbox.readable(file),
            None => sandbox,
        }))
    }

    pub(super) fn apply(&self, command: Command) -> Command {
        self.0.apply(command)
    }

    /// Whether the runs cannot write to the repository.
    pub(super) fn protects_repository(&self) -> bool {
        self.0.level() == SandboxLevel::Guard
    }

    /// Which protected path a failed gate wanted, judged by its output.
    pub(super) fn note(&self, output: &str) -> Option<String> {
        self.0.note(output)
    }
}
