//! Merges the agents' branches into main in dependency order, fast-forward only, and tests each commit before main moves
//! to it.
//!
//! Main is never reset. All gates run on a commit in main's checkout for gates first. If one fails, the commit is saved as a
//! rescue, its agent gets the failure, and main stays. An interrupted merge resumes with the next one.
//!
//! - [`members`]: the branches of a merge; [`verifications`]: what the session's messages say about them
//! - [`order`], [`plan`]: the order of the branches and what to do with each. Pure
//! - [`outcome`]: the result of a branch; `messages`: the messages about it
//! - [`planned_merge`]: plans a merge; [`run`]: runs it
//! - [`project_tests`]: a merge with the project's own gates
//! - [`remote_worktrees`]: branches on other machines; `journal`: the state of a merge on disk

mod error;
mod journal;
pub mod members;
mod messages;
pub mod order;
pub mod outcome;
pub mod plan;
pub mod planned_merge;
pub mod project_tests;
pub mod remote_worktrees;
pub mod run;
pub mod verifications;

use paw_core::{AgentId, BranchName};
use serde_json::{Value, json};

pub use error::MergeError;
pub use journal::MergeLock;
pub use members::{MergeMember, agent_of, choose_members, members_of};
pub use outcome::{CommitTestResult, MergeOutcome, MergeSkip};
pub use plan::{MergeAction, MergeEntry};
pub use planned_merge::PlannedMerge;
pub use project_tests::ProjectTests;
pub use remote_worktrees::RemoteWorktrees;
pub use run::MergeCallbacks;
pub use verifications::Verifications;

pub use crate::gates::TestedCommit;

/// The steps of a merge, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// The plan is in the journal.
    Planned,
    Testing,
    Proven,
    /// The journal says that main is about to move.
    Advancing,
    /// Main has moved.
    Advanced,
    /// The branch's result is in the journal.
    Recorded,
    /// A branch that was rebased for the merge now points at the merged commit.
    BranchRebased,
    Reported,
    Summarised,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeReport {
    pub base: BranchName,
    /// The commit of the base before and after the merge.
    pub before: String,
    pub after: String,
    /// Whether it resumed an interrupted merge.
    pub resumed: bool,
    pub entries: Vec<MergeEntry>,
    pub cycles: Vec<Vec<AgentId>>,
    /// Further remarks for the user.
    pub notes: Vec<String>,
}

impl MergeReport {
    /// Whether main contains every branch of the merge.
    pub fn is_complete(&self) -> bool {
        self.entries.iter().all(|entry| entry.outcome().is_some_and(MergeOutcome::is_in))
    }

    /// The result in one line.
    pub fn summary(&self) -> String {
        messages::summary(&self.entries)
    }

    /// The result as a JSON document.
    pub fn document(&self) -> Value {
        let branch = |entry: &MergeEntry| {
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
