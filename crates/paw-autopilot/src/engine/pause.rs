//! Why a run stands still, in words.

use std::fmt;

use paw_core::text::plural;

use super::state::{Pause, Run, Stage};

impl Pause {
    /// One word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Preflight { .. } => "preflight",
            Self::Branch { .. } => "branch",
            Self::DefaultBranch { .. } => "default_branch",
            Self::MaxAttempts { .. } => "max_attempts",
            Self::Executor { .. } => "executor",
            Self::HeadMoved { .. } => "head_moved",
            Self::Coverage { .. } => "coverage",
            Self::Closed { .. } => "closed",
            Self::Budget { .. } => "budget",
            Self::Commit { .. } => "commit",
            Self::Final { .. } => "final",
            Self::Push { .. } => "push",
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("Somebody asked for it"),
            Self::Preflight { problems } => write!(f, "Preflight failed: {}", problems.join("; ")),
            Self::Branch { why } => write!(f, "Could not make the branch: {why}"),
            Self::DefaultBranch { branch } => {
                write!(f, "'{branch}' is the default branch, where nothing is ever committed")
            }
            Self::MaxAttempts { objections } => match objections.first() {
                Some(objection) => write!(f, "No attempt was good enough: {objection}"),
                None => f.write_str("No attempt was good enough"),
            },
            Self::Executor { why } => write!(f, "The executor does not work: {why}"),
            Self::HeadMoved { what } => write!(f, "The branch is not as the run left it: {what}"),
            Self::Coverage { why } => write!(f, "Coverage could not be measured: {why}"),
            Self::Closed { what } => f.write_str(what),
            Self::Budget { what } => write!(f, "The budget is used up: {what}"),
            Self::Commit { why } => write!(f, "Could not commit: {why}"),
            Self::Final { why } => write!(f, "The final checks failed: {why}"),
            Self::Push { why } => write!(f, "Could not push: {why}"),
        }
    }
}

/// The same for people who look at a run: what it could not do, and how often it tried.
pub fn headline(run: &Run) -> Option<String> {
    let Stage::Paused { reason, at } = &run.stage else { return None };
    let times = plural(run.order.max_attempts, "attempt");
    Some(match (reason, at.as_ref()) {
        (Pause::MaxAttempts { .. }, Stage::Green { .. }) => {
            format!("Could not achieve green state after {times}")
        }
        (Pause::MaxAttempts { .. }, Stage::Red { .. }) => {
            format!("Could not achieve red state after {times}")
        }
        (reason, _) => reason.to_string(),
    })
}
