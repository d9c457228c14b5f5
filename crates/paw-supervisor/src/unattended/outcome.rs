//! The result of an agent's work.

use std::fmt;

/// The result of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOutcome {
    /// Its gates pass on this commit.
    Verified { commit: String },
    /// Its gates fail, and it has no attempts left.
    Failed { commit: String, errors: Vec<String> },
    /// No gate failed on this commit, and none proves it.
    Unproven { commit: String, why: String },
    /// It waits for the user.
    Parked { why: String },
    /// It finished without a commit.
    Nothing { why: String },
    /// It was still working.
    Unfinished { why: String },
}

impl AgentOutcome {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Verified { .. } => "verified",
            Self::Failed { .. } => "failed",
            Self::Unproven { .. } => "unproven",
            Self::Parked { .. } => "parked",
            Self::Nothing { .. } => "nothing",
            Self::Unfinished { .. } => "unfinished",
        }
    }

    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Verified { commit } | Self::Failed { commit, .. } | Self::Unproven { commit, .. } => {
                Some(commit)
            }
            Self::Parked { .. } | Self::Nothing { .. } | Self::Unfinished { .. } => None,
        }
    }

    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Verified { .. })
    }
}

/// The details of the result, on one line.
impl fmt::Display for AgentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified { .. } => f.write_str("gates pass"),
            Self::Failed { errors, .. } => {
                let first = errors.first().and_then(|error| error.lines().next());
                f.write_str(first.unwrap_or("gates fail"))
            }
            Self::Unproven { why, .. }
            | Self::Parked { why }
            | Self::Nothing { why }
            | Self::Unfinished { why } => f.write_str(why),
        }
    }
}
