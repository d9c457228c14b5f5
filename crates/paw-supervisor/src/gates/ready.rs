//! Making a bare checkout ready, as any new worktree is: files brought along, then the setup.

use std::path::Path;

use paw_core::BranchName;
use paw_host::git::Repo;
use paw_worktree::copy;
use paw_worktree::setup::{self, SetupPlan, SetupStatus};

use super::verify::GateError;

/// What a checkout needs beside the files of its commit.
#[derive(Debug, Clone, Default)]
pub struct Ready {
    /// Ignored files to bring along.
    pub copy: Vec<String>,
    /// Commands to run, approved.
    pub setup: SetupPlan,
}

impl Ready {
    /// Each commit may need something else, so this is done for each.
    pub fn make(
        &self,
        repo: &Repo,
        dir: &Path,
        branch: &BranchName,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<(), GateError> {
        if !repo.bare {
            copy::copy_along(&self.copy, &repo.root, dir)?;
        }
        let made = setup::run(&self.setup, dir, branch, |line| on_line(line));
        match made.status {
            SetupStatus::None | SetupStatus::Success => Ok(()),
            SetupStatus::Failed | SetupStatus::Timeout | SetupStatus::Untrusted => {
                Err(GateError::NotReady(made.error.unwrap_or_default()))
            }
        }
    }
}
