//! What commits of a project are checked with.

use std::time::Duration;

use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError};
use paw_host::files::Dirs;
use paw_host::git::Repo;

use super::governance;
use super::place::kept_checkouts;
use super::plan::{Gate, Step};
use super::ready::Ready;
use super::stop::Stop;
use super::verify::Order;

/// The project's gates and what a checkout needs for them, approved.
#[derive(Debug, Clone)]
pub struct Checks {
    pub steps: Vec<Step>,
    pub ready: Ready,
    pub config: PawConfig,
}

impl Checks {
    /// Only one of the gates.
    #[must_use]
    pub fn only(mut self, gate: Gate) -> Self {
        self.steps.retain(|step| step.gate == gate);
        self
    }

    /// The order to prove a branch with them, each within `limit`.
    pub fn order(
        self,
        repo: &Repo,
        branch: BranchName,
        limit: Duration,
        dirs: &Dirs,
    ) -> Result<Order, PawError> {
        Ok(Order {
            branch,
            steps: self.steps,
            only: Vec::new(),
            limit,
            keep_in: kept_checkouts(dirs, repo),
            ready: self.ready,
            governance: governance::load(&self.config.governance, &repo.root)?,
            repo: repo.clone(),
            stop: Stop::default(),
        })
    }
}
