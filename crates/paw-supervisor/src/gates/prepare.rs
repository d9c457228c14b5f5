//! What a checkout needs besides the files of its commit.

use std::path::Path;

use paw_core::BranchName;
use paw_host::git::Repo;
use paw_host::process::Command;
use paw_worktree::setup::{self, SetupStatus};
use paw_worktree::{Preparation, copy};

use super::verify::GateError;

/// Prepares a checkout like a new worktree: copies ignored files and runs the setup. This is repeated for every commit,
/// because each may need a different setup.
pub(super) fn prepare(
    preparation: &Preparation,
    repo: &Repo,
    (dir, branch): (&Path, &BranchName),
    on_line: &mut dyn FnMut(&str),
) -> Result<(), GateError> {
    if !repo.bare {
        copy::copy_ignored(&preparation.copy, &repo.root, dir)?;
    }
    // The setup brings its own sandbox.
    let made = setup::run_as(&preparation.setup, dir, branch, &Command::contained, |line| on_line(line));
    match made.status {
        SetupStatus::None | SetupStatus::Success => Ok(()),
        SetupStatus::Failed | SetupStatus::Timeout | SetupStatus::Untrusted => {
            Err(GateError::NotReady(made.error.unwrap_or_default()))
        }
    }
}
