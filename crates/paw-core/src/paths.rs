//! Every file and directory that git paw keeps, each spelled once. Joins only: nothing here looks at a disk.
//!
//! - [`PawDir`]: what all worktrees of a repository share, in git's common directory
//! - [`CheckoutDir`]: `.git-paw/` in a checkout
//! - [`ConfigDir`], [`DataDir`], [`RuntimeDir`], [`SessionsDir`]: the user's own, below the XDG directories
//! - [`TaskmasterDir`], [`ReportDir`]: `.taskmaster/` in a project, and the report of one run

mod checkout;
mod repository;
mod taskmaster;
mod user;

use std::path::{Path, PathBuf};

pub use checkout::{CheckoutDir, repo_skill};
pub use repository::{AGENT_FILE, BRANCH_FILE, PawDir};
pub use taskmaster::{ReportDir, TaskmasterDir, tasks_lock};
pub use user::{ConfigDir, DataDir, RuntimeDir, SessionsDir};

/// The file of a skill, in a directory named after it.
const SKILL: &str = "SKILL.md";

/// The lock beside a file or directory: `merge.json` has `merge.lock`.
pub fn lock_of(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Where a full log is moved: `a.jsonl` becomes `a.1.jsonl`.
pub fn rotated(log: &Path) -> PathBuf {
    log.with_extension("1.jsonl")
}

#[cfg(test)]
mod tests;
