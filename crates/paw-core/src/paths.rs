//! The path of every file and directory that git paw keeps. Only joins paths; does not access the disk.
//!
//! - [`PawDir`]: shared by all worktrees of a repository, in git's common directory
//! - [`CheckoutDir`]: `.git-paw/` in a checkout
//! - [`ConfigDir`], [`DataDir`], [`RuntimeDir`], [`SessionsDir`]: the user's directories, below the XDG base directories
//! - [`TaskmasterDir`], [`ReportDir`]: `.taskmaster/` in a project, and the report of one run

mod checkout;
mod repository;
mod taskmaster;
mod user;

use std::path::{Path, PathBuf};

pub use checkout::{CheckoutDir, repo_skill};
pub use repository::{AGENT_FILE, BRANCH_FILE, PawDir};
pub use taskmaster::{ReportDir, TaskmasterDir, tasks_lock};
pub use user::{ConfigDir, DataDir, GateCheckoutsDir, RuntimeDir, SessionsDir};

/// The file of a skill, in a directory named after it.
pub const SKILL_FILE: &str = "SKILL.md";

/// The lock file of a file or directory: `merge.lock` for `merge.json`.
pub fn lock_of(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// The name of a rotated log: `a.jsonl` becomes `a.1.jsonl`.
pub fn rotated(log: &Path) -> PathBuf {
    log.with_extension("1.jsonl")
}

#[cfg(test)]
mod tests;
