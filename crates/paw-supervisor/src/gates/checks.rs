//! The gates of a project and what they need.

use std::time::Duration;

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError};
use paw_host::files::Dirs;
use paw_host::git::Repo;

use super::checkout::kept_checkouts;
use super::governance;
use super::plan::{Gate, GateStep};
use super::stop::StopRequest;
use super::verify::GateRequest;
use paw_worktree::Preparation;

/// The project's approved gates and what a checkout needs for them.
#[derive(Debug, Clone)]
pub struct GateChecks {
    pub steps: Vec<GateStep>,
    pub preparation: Preparation,
    pub config: PawConfig,
}

impl GateChecks {
    /// Keeps only one of the gates.
    #[must_use]
    pub fn only(mut self, gate: Gate) -> Self {
        self.steps.retain(|step| step.gate == gate);
        self
    }

    /// A request to verify a branch with these gates; `limit` applies to each.
    pub fn request(
        self,
        repo: &Repo,
        branch: BranchName,
        limit: Duration,
        dirs: &Dirs,
    ) -> Result<GateRequest, PawError> {
        Ok(GateRequest {
            branch,
            steps: self.steps,
            only: Vec::new(),
            limit,
            keep_in: kept_checkouts(dirs, repo),
            preparation: self.preparation,
            governance: governance::load(&self.config.governance, &repo.root)?,
            repo: repo.clone(),
            stop: StopRequest::default(),
        })
    }
}
