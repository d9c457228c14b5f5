//! The `.git-paw` directory of a checkout.

use std::path::{Path, PathBuf};

use super::SKILL_FILE;

/// A repository's override of a skill.
pub fn repo_skill(repository: &Path, name: &str) -> PathBuf {
    repository.join(".agents/skills").join(name).join(SKILL_FILE)
}

/// `.git-paw/` of a checkout. An agent's worktree contains only the briefing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutDir(PathBuf);

impl CheckoutDir {
    pub const NAME: &str = ".git-paw";
    /// Paths of the files relative to the checkout.
    pub const CONFIG: &str = ".git-paw/config.toml";
    pub const SCRIPTS: &str = ".git-paw/scripts";
    pub const LOGS: &str = ".git-paw/logs";
    pub const WORKTREES: &str = ".git-paw/worktrees";
    pub const BRIEFING: &str = ".git-paw/AGENTS.local.md";
    /// The locations of the setup script, including that of another tool. The first one that exists is used.
    pub const SETUP_SCRIPTS: [&str; 2] = [".git-paw/worktree-setup.sh", ".betcode/worktree-setup.sh"];

    pub fn of(checkout: &Path) -> Self {
        Self(checkout.join(Self::NAME))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    pub fn ignore_file(&self) -> PathBuf {
        self.0.join(".gitignore")
    }

    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// A log of all messages of a session, for `tail`.
    pub fn audit_trail(&self) -> PathBuf {
        self.0.join("broker.log")
    }

    pub fn learnings(&self) -> PathBuf {
        self.0.join("session-learnings.md")
    }

    pub fn sweep_script(&self) -> PathBuf {
        self.0.join("scripts/sweep.sh")
    }

    /// The directory of worktrees with `worktree_placement = "child"`.
    pub fn worktrees(&self) -> PathBuf {
        self.0.join("worktrees")
    }

    /// The briefing, if it must not be in `AGENTS.md`.
    pub fn briefing(&self) -> PathBuf {
        self.0.join("AGENTS.local.md")
    }
}
