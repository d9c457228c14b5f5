//! The options of a run. Stored with the run, so that resuming does not need them again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::engine::Budget;
use crate::tasks::TaskId;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunOptions {
    /// `None` picks the next ready task.
    pub task: Option<String>,
    pub tag: Option<String>,
    pub runner: Option<String>,
    pub commit_scope: Option<String>,
    pub executor: Option<String>,
    pub max_attempts: Option<u32>,
    pub budget: Budget,
    pub push: bool,
    pub pull_request: bool,
    pub relax: Vec<Relaxation>,
    /// Run the executor in a tmux pane.
    #[serde(default)]
    pub pane: bool,
    /// Dependencies whose work is already on this branch but not reviewed yet.
    #[serde(default)]
    pub built_on: Vec<TaskId>,
}

/// What `--force` allows. Nothing allows an unproven commit or one on the default branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relaxation {
    /// Start with uncommitted changes.
    Dirty,
    /// Abandon an unfinished run.
    Run,
    /// Finish below the coverage thresholds.
    Coverage,
    /// Accept protected files, git settings and dependencies as they are when a run resumes.
    Protected,
}

impl Relaxation {
    pub const ALL: [Self; 4] = [Self::Dirty, Self::Run, Self::Coverage, Self::Protected];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dirty => "dirty",
            Self::Run => "run",
            Self::Coverage => "coverage",
            Self::Protected => "protected",
        }
    }
}

impl fmt::Display for Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Relaxation {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == word);
        known.ok_or_else(|| format!("'{word}' cannot be forced (dirty, run, coverage or protected can)"))
    }
}

impl RunOptions {
    pub fn relaxes(&self, what: Relaxation) -> bool {
        self.relax.contains(&what)
    }
}
