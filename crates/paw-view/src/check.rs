//! Checks of commits, from messages.

use jiff::Timestamp;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::agent::AgentView;

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

impl CommitCheck {
    /// The check in a message, and the agent whose work was checked.
    pub(crate) fn find(stored: &StoredMessage) -> Option<(&AgentId, Self)> {
        let (agent, commit, passed, text) = match &stored.message {
            Message::Verified(verified) => {
                let text = verified.message.clone().unwrap_or_default();
                (&verified.agent_id, verified.commit.clone(), true, text)
            }
            // Feedback about a commit means that a gate failed.
            Message::Feedback(feedback) => {
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

    /// The latest check of exactly this commit.
    pub fn find_check(&self, commit: &str) -> Option<&CommitCheck> {
        self.checks.iter().rfind(|check| check.commit.as_deref() == Some(commit))
    }
}
