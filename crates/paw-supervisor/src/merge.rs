//! Merging the agents' branches into main: in the order of what they waited for, fast-forward only, each commit proven
//! before main moves to it.
//!
//! Main never has to be put back. A commit is tested in a worktree of its own first; one that fails is told to its
//! agent and kept as a rescue, and main stays. Whatever ends a merge early, the next one goes on where it was.
//!
//! - [`team`]: who takes part; [`testimony`]: what the session's messages say about them
//! - [`order`], [`plan`]: who comes first, and what is done with each. Pure
//! - [`outcome`]: what became of a branch; `words`: what is said about it
//! - [`open`]: a merge that is planned; [`run`]: a merge that happens
//! - [`project_tests`]: the project's own tests as the proof, and the session as the audience
//! - `test_worktree`: the temporary worktree; `advance`: moving branches; `journal`: what a merge writes down about itself

mod advance;
mod error;
mod journal;
pub mod open;
pub mod order;
pub mod outcome;
pub mod plan;
pub mod project_tests;
pub mod run;
pub mod team;
mod test_worktree;
pub mod testimony;
mod words;

use std::path::Path;

use paw_core::{AgentId, BranchName};
use serde_json::{Value, json};

pub use error::MergeError;
pub use open::Merge;
pub use outcome::{Outcome, Skip, TestResult};
pub use plan::{Entry, Move};
pub use project_tests::ProjectTests;
pub use run::Hands;
pub use team::{Member, agent_of, choose, members_of};
pub use test_worktree::LOCK_REASON;
pub use testimony::Testimony;

/// A commit that is to be proven, checked out with nothing else beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedCommit<'a> {
    pub dir: &'a Path,
    pub commit: &'a str,
    /// Whose work it is.
    pub branch: &'a BranchName,
}

/// How far a merge has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// The plan is written down.
    Planned,
    Testing,
    Proven,
    /// Written down that main is about to move.
    Advancing,
    /// Main has moved.
    Advanced,
    /// Written down what became of the branch.
    Recorded,
    /// A rebased branch has followed main.
    BroughtUp,
    Told,
    Summarised,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeReport {
    pub base: BranchName,
    /// Where it was before, and where it is.
    pub before: String,
    pub after: String,
    /// It went on with one that had ended too early.
    pub resumed: bool,
    pub entries: Vec<Entry>,
    pub cycles: Vec<Vec<AgentId>>,
    /// What else somebody should know.
    pub notes: Vec<String>,
}

impl MergeReport {
    /// Whether main has everything that was to be merged.
    pub fn is_complete(&self) -> bool {
        self.entries.iter().all(|entry| entry.outcome().is_some_and(Outcome::is_in))
    }

    /// What happened, in one line.
    pub fn summary(&self) -> String {
        words::summary(&self.entries)
    }

    /// What happened, as a document.
    pub fn document(&self) -> Value {
        let branch = |entry: &Entry| {
            let mut value = serde_json::to_value(entry).unwrap_or_default();
            if let Some(map) = value.as_object_mut() {
                map.shift_remove("stage");
                map.insert("detail".to_owned(), entry.outcome().map(ToString::to_string).into());
            }
            value
        };
        json!({
            "dry_run": false,
            "base": self.base,
            "before": self.before,
            "after": self.after,
            "complete": self.is_complete(),
            "resumed": self.resumed,
            "summary": self.summary(),
            "branches": self.entries.iter().map(branch).collect::<Vec<_>>(),
            "cycles": self.cycles,
            "notes": self.notes,
        })
    }
}
