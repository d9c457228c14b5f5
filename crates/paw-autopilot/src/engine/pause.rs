//! Pause reasons as text.

use std::fmt;

use paw_core::text::plural;

use super::state::{PauseReason, Run, RunStage};

impl PauseReason {
    /// The identifier used in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Preflight { .. } => "preflight",
            Self::Branch { .. } => "branch",
            Self::DefaultBranch { .. } => "default_branch",
            Self::MaxAttempts { .. } => "max_attempts",
            Self::Executor { .. } => "executor",
            Self::HeadMoved { .. } => "head_moved",
            Self::Protected { .. } => "protected",
            Self::Coverage { .. } => "coverage",
            Self::Closed { .. } => "closed",
            Self::Budget { .. } => "budget",
            Self::Commit { .. } => "commit",
            Self::Final { .. } => "final",
            Self::Push { .. } => "push",
        }
    }
}

impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("Pause requested"),
            Self::Preflight { problems } => write!(f, "Preflight failed: {}", problems.join("; ")),
            Self::Branch { why } => write!(f, "Could not create the branch: {why}"),
            Self::DefaultBranch { branch } => {
                write!(f, "'{branch}' is the default branch, where nothing is ever committed")
            }
            Self::MaxAttempts { objections } => match objections.first() {
                Some(objection) => write!(f, "All attempts were refused: {objection}"),
                None => f.write_str("All attempts were refused"),
            },
            Self::Executor { why } => write!(f, "The executor failed: {why}"),
            Self::HeadMoved { what } => write!(f, "The branch has moved: {what}"),
            Self::Protected { what } => write!(
                f,
                "Protected from the executor: {what} (undo it, or allow it with --resume --force=protected)"
            ),
            Self::Coverage { why } => write!(f, "Coverage could not be measured: {why}"),
            Self::Closed { what } => f.write_str(what),
            Self::Budget { what } => write!(f, "The budget is used up: {what}"),
            Self::Commit { why } => write!(f, "Could not commit: {why}"),
            Self::Final { why } => write!(f, "The final checks failed: {why}"),
            Self::Push { why } => write!(f, "Could not push: {why}"),
        }
    }
}

/// A one-line summary of why a run is paused.
pub fn headline(run: &Run) -> Option<String> {
    let RunStage::Paused { reason, at } = &run.stage else { return None };
    let times = plural(run.request.max_attempts, "attempt");
    Some(match (reason, at.as_ref()) {
        (PauseReason::MaxAttempts { .. }, RunStage::Green { .. }) => {
            format!("Could not achieve green state after {times}")
        }
        (PauseReason::MaxAttempts { .. }, RunStage::Red { .. }) => {
            format!("Could not achieve red state after {times}")
        }
        (reason, _) => reason.to_string(),
    })
}
