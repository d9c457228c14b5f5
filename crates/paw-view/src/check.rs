//! Checks of commits, from messages, and whether the tip of a branch counts as verified.

use jiff::Timestamp;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::agent::{AgentView, StatusCategory};

/// Checks kept per agent.
const MAX_CHECKS: usize = 8;

/// The result of checking a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitCheck {
    pub seq: u64,
    pub at: Timestamp,
    /// Missing if the message does not name one.
    pub commit: Option<String>,
    pub passed: bool,
    pub by: AgentId,
    pub text: String,
}

/// The commit at the tip of an agent's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchTip {
    pub commit: String,
    /// Whether a signed record of this user says that its gates passed.
    pub proven: bool,
    /// How many commits of it the main branch does not have, and the other way around. Missing if the reader of the view did not
    /// compare them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u32>,
}

impl BranchTip {
    /// A tip that was not compared with the main branch.
    pub fn new(commit: impl Into<String>, proven: bool) -> Self {
        Self { commit: commit.into(), proven, ahead: None, behind: None }
    }

    /// `+2 -1`; nothing for a branch that equals the main branch, or was not compared.
    pub fn distance(&self) -> Option<String> {
        match (self.ahead?, self.behind?) {
            (0, 0) => None,
            (ahead, behind) => Some(format!("+{ahead} -{behind}")),
        }
    }
}

/// Why the tip of a branch counts as verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TipVerification {
    /// A signed record says that its gates passed.
    Proven,
    /// The supervisor or the user declared it.
    ByHand,
}

impl TipVerification {
    /// The status of an agent with such a tip.
    pub fn status(self) -> (StatusCategory, &'static str) {
        match self {
            Self::Proven => (StatusCategory::Verified, "verified"),
            Self::ByHand => (StatusCategory::Done, "verified by hand"),
        }
    }
}

/// A shorter commit prefix is ambiguous.
const FEWEST_DIGITS: usize = 7;

impl CommitCheck {
    fn is_of(&self, commit: &str) -> bool {
        let named = self.commit.as_deref();
        named.is_some_and(|named| named.len() >= FEWEST_DIGITS && commit.starts_with(named))
    }

    /// The check in a message, and the agent whose work was checked.
    pub(crate) fn find(stored: &StoredMessage) -> Option<(&AgentId, Self)> {
        let (agent, commit, passed, text) = match &stored.message {
            Message::Verified(verified) => {
                let text = verified.message.clone().unwrap_or_default();
                (&verified.agent_id, verified.commit.clone(), true, text)
            }
            // Feedback about a commit means that a gate failed, unless it is the opinion of another agent.
            Message::Feedback(feedback)
                if matches!(stored.sender.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR) =>
            {
                let commit = feedback.extra.payload.get("commit")?.as_str()?.to_owned();
                (&feedback.agent_id, Some(commit), false, feedback.errors.join("\n"))
            }
            _ => return None,
        };
        Some((
            agent,
            Self { seq: stored.seq, at: stored.at, commit, passed, by: stored.sender.clone(), text },
        ))
    }
}

impl AgentView {
    /// A later check of the same commit replaces the earlier one.
    pub(crate) fn add_check(&mut self, check: CommitCheck) {
        self.checks.retain(|known| known.commit.is_none() || known.commit != check.commit);
        self.checks.push(check);
        if self.checks.len() > MAX_CHECKS {
            self.checks.remove(0);
        }
    }

    /// The latest check of this commit.
    pub fn find_check(&self, commit: &str) -> Option<&CommitCheck> {
        self.checks.iter().rfind(|check| check.is_of(commit))
    }

    /// Whether the tip of its branch is verified, and why. A later failure of the same commit counts, and so does a tip that
    /// moved. If the tip is unknown, what was declared last is all there is.
    pub fn verification(&self) -> Option<TipVerification> {
        let Some(tip) = &self.tip else {
            return self.checks.last().filter(|check| check.passed).map(|_| TipVerification::ByHand);
        };
        match self.find_check(&tip.commit) {
            Some(check) if !check.passed => None,
            _ if tip.proven => Some(TipVerification::Proven),
            check => check.map(|_| TipVerification::ByHand),
        }
    }
}
