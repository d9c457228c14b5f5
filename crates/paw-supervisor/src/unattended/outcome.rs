//! What became of an agent's work.

use std::fmt;

/// How it ended, as far as it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOutcome {
    /// Its gates pass on this commit.
    Verified { commit: String },
    /// Its gates fail, and it has had its chances.
    Failed { commit: String, errors: Vec<String> },
    /// Nothing speaks against this commit, and nothing for it.
    Unproven { commit: String, why: String },
    /// It waits for something that only a person can give.
    Parked { why: String },
    /// It came to an end without a commit.
    Nothing { why: String },
    /// It was still at work.
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

/// What is behind the word, in one line.
impl fmt::Display for AgentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified { .. } => f.write_str("its gates pass"),
            Self::Failed { errors, .. } => {
                let first = errors.first().and_then(|error| error.lines().next());
                f.write_str(first.unwrap_or("its gates fail"))
            }
            Self::Unproven { why, .. }
            | Self::Parked { why }
            | Self::Nothing { why }
            | Self::Unfinished { why } => f.write_str(why),
        }
    }
}
