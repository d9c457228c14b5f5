//! Verdicts on commits, as far as messages tell them.

use jiff::Timestamp;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::agent::AgentView;

/// Verdicts kept per agent.
const MOST: usize = 8;

/// What was said about a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitCheck {
    pub seq: u64,
    pub at: Timestamp,
    /// Missing where the message does not name one.
    pub commit: Option<String>,
    pub passed: bool,
    pub by: AgentId,
    pub text: String,
}

impl CommitCheck {
    /// The verdict in a message, and whose work it is about.
    pub(crate) fn find(stored: &StoredMessage) -> Option<(&AgentId, Self)> {
        let (agent, commit, passed, text) = match &stored.message {
            Message::Verified(verified) => {
                let text = verified.message.clone().unwrap_or_default();
                (&verified.agent_id, verified.commit.clone(), true, text)
            }
            // Feedback about a commit is a gate that failed.
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
    /// A later verdict on the same commit replaces the earlier one.
    pub(crate) fn check(&mut self, check: CommitCheck) {
        self.checks.retain(|known| known.commit.is_none() || known.commit != check.commit);
        self.checks.push(check);
        if self.checks.len() > MOST {
            self.checks.remove(0);
        }
    }

    /// The newest verdict on this commit. Nothing vouches for another commit of the same agent.
    pub fn check_of(&self, commit: &str) -> Option<&CommitCheck> {
        self.checks.iter().rfind(|check| check.commit.as_deref() == Some(commit))
    }
}
