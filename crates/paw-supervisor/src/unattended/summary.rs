//! The result of an unattended session.

use std::time::Duration;

use paw_core::{AgentId, BranchName};
use serde_json::{Value, json};

use super::AgentOutcome;
use crate::merge;

/// Why following the session stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnattendedEnd {
    /// Every agent has finished.
    Complete,
    TimeOver,
    Interrupted,
    /// The session was stopped.
    SessionGone,
}

impl UnattendedEnd {
    fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::TimeOver => "time_over",
            Self::Interrupted => "interrupted",
            Self::SessionGone => "session_gone",
        }
    }
}

#[derive(Debug)]
pub struct UnattendedSummary {
    pub session: String,
    pub end: UnattendedEnd,
    pub took: Duration,
    pub outcomes: Vec<(AgentId, BranchName, AgentOutcome)>,
    pub questions: Vec<(AgentId, String)>,
    pub merged: Option<merge::MergeReport>,
    /// Why the merge failed, if it did.
    pub merge_error: Option<String>,
    pub wanted_merge: bool,
}

impl UnattendedSummary {
    pub fn verified(&self) -> usize {
        self.outcomes.iter().filter(|(_, _, outcome)| outcome.is_verified()).count()
    }

    /// Whether all work is verified, and merged if that was requested.
    pub fn is_good(&self) -> bool {
        let all = self.verified() == self.outcomes.len();
        let merged = self.merged.as_ref().is_some_and(merge::MergeReport::is_complete);
        all && (merged || !self.wanted_merge)
    }

    /// `merged`, or the result of the gates.
    pub fn word(&self, branch: &BranchName, outcome: &AgentOutcome) -> &'static str {
        let entries = self.merged.iter().flat_map(|merged| &merged.entries);
        let entry = entries.into_iter().find(|entry| entry.branch == *branch);
        match entry.and_then(|entry| entry.outcome()) {
            Some(merge::MergeOutcome::Merged { .. }) => "merged",
            _ => outcome.word(),
        }
    }

    pub fn document(&self) -> Value {
        let agent = |(agent, branch, outcome): &(AgentId, BranchName, AgentOutcome)| {
            let errors = match outcome {
                AgentOutcome::Failed { errors, .. } => errors.clone(),
                _ => Vec::new(),
            };
            json!({"agent": agent, "branch": branch, "result": self.word(branch, outcome),
                   "commit": outcome.commit(), "detail": outcome.to_string(), "errors": errors})
        };
        let question = |(agent, question): &(AgentId, String)| json!({"agent": agent, "question": question});
        json!({
            "session": self.session,
            "end": self.end.word(),
            "good": self.end == UnattendedEnd::Complete && self.is_good(),
            "seconds": self.took.as_secs(),
            "agents": self.outcomes.iter().map(agent).collect::<Vec<_>>(),
            "questions": self.questions.iter().map(question).collect::<Vec<_>>(),
            "merge": self.merged.as_ref().map(merge::MergeReport::document),
            "merge_error": self.merge_error,
        })
    }
}
