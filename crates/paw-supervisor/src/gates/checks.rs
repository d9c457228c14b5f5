//! The gates of a project and what they need.

use std::time::Duration;

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError};
use paw_host::files::Dirs;
use paw_host::git::Repo;

use super::checkout::checkouts_dir;
use super::plan::GateStep;
use super::stop::StopRequest;
use super::verify::GateRequest;
use crate::governance::{self, GovernanceDocuments};
use crate::proof::ProofStore;
use paw_worktree::Preparation;

/// The project's approved gates and what a checkout needs for them.
#[derive(Debug, Clone)]
pub struct GateChecks {
    pub steps: Vec<GateStep>,
    pub preparation: Preparation,
    pub config: PawConfig,
}

impl GateChecks {
    /// The project's governance documents.
    pub fn governance(&self, repo: &Repo) -> GovernanceDocuments {
        governance::load(&self.config.governance, &repo.root)
    }

    /// A request to verify a branch with these gates; `limit` applies to each.
    pub fn request(
        self,
        repo: &Repo,
        branch: BranchName,
        limit: Duration,
        dirs: &Dirs,
    ) -> Result<GateRequest, PawError> {
        let governance = self.governance(repo).found;
        Ok(GateRequest {
            branch,
            steps: self.steps,
            only: Vec::new(),
            limit,
            keep_in: checkouts_dir(dirs, repo),
            proofs: ProofStore::open(repo, dirs),
            preparation: self.preparation,
            sandbox: self.config.sandbox.runs,
            governance,
            repo: repo.clone(),
            stop: StopRequest::default(),
        })
    }
}
