//! The user's directories. The environment determines their location.

use std::fmt;
use std::path::{Path, PathBuf};

use super::SKILL_FILE;
use crate::SessionName;

/// Below `$XDG_CONFIG_HOME`, `$XDG_DATA_HOME` and `$XDG_RUNTIME_DIR`.
const NAME: &str = "git-paw";

/// `$XDG_CONFIG_HOME/git-paw/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDir(PathBuf);

impl ConfigDir {
    pub fn of(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn below(base: &Path) -> Self {
        Self(base.join(NAME))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// The user's override of a skill: a directory of its own, or a single file.
    pub fn skills(&self, name: &str) -> [PathBuf; 2] {
        let dir = self.0.join("agent-skills");
        [dir.join(name).join(SKILL_FILE), dir.join(format!("{name}.md"))]
    }
}

/// `$XDG_DATA_HOME/git-paw/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir(PathBuf);

impl DataDir {
    pub fn of(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn below(base: &Path) -> Self {
        Self(base.join(NAME))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The worktree registry.
    pub fn registry(&self) -> PathBuf {
        self.0.join("registry.db")
    }

    /// Held while a process works on one worktree.
    pub fn operation_lock(&self, worktree: &dyn fmt::Display) -> PathBuf {
        self.0.join("operations").join(format!("{worktree}.lock"))
    }

    /// The user's approvals.
    pub fn trust(&self) -> PathBuf {
        self.0.join("trust.json")
    }

    /// The key that signs proof records.
    pub fn proof_key(&self) -> PathBuf {
        self.0.join("proof.key")
    }

    /// The key that signs what this machine sends to the other machines of a session.
    pub fn host_key(&self) -> PathBuf {
        self.0.join("host.key")
    }

    /// Clones of repositories whose sessions run on other machines and have agents here.
    pub fn clones(&self) -> PathBuf {
        self.0.join("clones")
    }

    /// Whether this is the directory of such clones, of any user on any machine.
    pub fn is_clones(path: &Path) -> bool {
        path.ends_with(Path::new(NAME).join("clones"))
    }

    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// Checkouts for gates, one directory per repository.
    pub fn checkouts(&self) -> PathBuf {
        self.0.join("verify")
    }

    /// Where autopilot proves its work, one directory per worktree.
    pub fn proofs(&self) -> PathBuf {
        self.0.join("autopilot")
    }

    /// Held by the running daemon.
    pub fn daemon_lock(&self) -> PathBuf {
        self.0.join("daemon.lock")
    }

    /// Describes the running daemon: its process id and socket.
    pub fn daemon_note(&self) -> PathBuf {
        self.0.join("daemon.json")
    }

    pub fn daemon_log(&self) -> PathBuf {
        self.0.join("daemon.log")
    }
}

/// The checkouts in which the gates of one repository run, below [`DataDir::checkouts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateCheckoutsDir(PathBuf);

impl GateCheckoutsDir {
    /// The file in a checkout's state that names its branch. Its age is the last use.
    const BRANCH: &str = "branch";
    const STATE: &str = ".state";

    pub fn of(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn checkout(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What belongs to a checkout and is out of reach of its gates.
    pub fn state(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}{}", Self::STATE))
    }

    pub fn branch_file(&self, name: &str) -> PathBuf {
        self.state(name).join(Self::BRANCH)
    }

    /// Exists while code that is not on the main branch runs in the main branch's checkout.
    pub fn trial_marker(&self, name: &str) -> PathBuf {
        self.state(name).join("trial")
    }

    /// A copy of a checkout from before a run of code that is not on the main branch.
    pub fn saved(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.saved"))
    }

    /// Held while a checkout is used.
    pub fn lock(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.lock"))
    }

    /// The name of the checkout whose state directory has this name.
    pub fn name_of(state: &str) -> Option<&str> {
        state.strip_suffix(Self::STATE)
    }
}

/// The receipts of all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionsDir(PathBuf);

impl SessionsDir {
    pub fn of(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn receipt(&self, session: &SessionName) -> PathBuf {
        self.0.join(format!("{session}.json"))
    }

    /// A copy of a session's receipt, for a repair.
    pub fn backup(&self, session: &SessionName) -> PathBuf {
        self.0.join("backup").join(format!("{session}.json"))
    }

    /// Held while a receipt is written or deleted.
    pub fn lock(&self) -> PathBuf {
        self.0.join(".lock")
    }
}

/// `$XDG_RUNTIME_DIR/git-paw/`, or our data directory if the variable is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeDir(PathBuf);

impl RuntimeDir {
    pub fn of(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    pub fn below(base: &Path) -> Self {
        Self(base.join(NAME))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn daemon_socket(&self) -> PathBuf {
        self.0.join("daemon.sock")
    }
}
