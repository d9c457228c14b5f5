//! The gates of a project and what they need.

use std::time::Duration;

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError};
use paw_host::files::Dirs;
use paw_host::git::Repo;

use super::checkout::checkouts_dir;
use super::governance;
use super::plan::GateStep;
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
            keep_in: checkouts_dir(dirs, repo),
            preparation: self.preparation,
            sandbox: self.config.sandbox.runs,
            governance: governance::load(&self.config.governance, &repo.root)?,
            repo: repo.clone(),
            stop: StopRequest::default(),
        })
    }
}
