//! Open questions, including approvals.

use jiff::Timestamp;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::agent::AgentState;

/// The prefix of a question about an approval, which is answered in the pane of the agent and not by a message.
const APPROVAL: &str = "[approval]";
/// The oldest questions are dropped above this number.
const MAX_QUESTIONS: usize = 256;

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The sequence number of the latest message that asked it.
    pub seq: u64,
    pub at: Timestamp,
    pub asker: AgentId,
    /// The exact text, so that an answer can quote it.
    pub text: String,
}

impl OpenQuestion {
    /// Whether it asks to approve a command or an edit.
    pub fn is_approval(&self) -> bool {
        self.text.starts_with(APPROVAL)
    }
}

/// Updates the open questions and returns those that this message closes.
pub(crate) fn update(open: &mut Vec<OpenQuestion>, stored: &StoredMessage) -> Vec<OpenQuestion> {
    match &stored.message {
        Message::Question(question) => {
            let asked = OpenQuestion {
                seq: stored.seq,
                at: stored.at,
                asker: question.agent_id.clone(),
                text: question.question.clone(),
            };
            // A repeated question replaces the earlier one. An agent shows one prompt at a time, so its next approval ends
            // the one before.
            let ends = |known: &mut OpenQuestion| {
                known.asker == asked.asker
                    && (known.text == asked.text || known.is_approval() && asked.is_approval())
            };
            let ended: Vec<_> = open.extract_if(.., ends).filter(|known| known.text != asked.text).collect();
            if open.len() >= MAX_QUESTIONS {
                open.remove(0);
            }
            open.push(asked);
            ended
        }
        Message::Answer(answer) => {
            // A message cannot press a key, so it never answers an approval.
            let of_asker = |known: &OpenQuestion| known.asker == answer.agent_id && !known.is_approval();
            let quoted = |known: &OpenQuestion| {
                answer.re.as_ref().is_some_and(|re| *re == known.text || *re == known.seq.to_string())
            };
            // Without a quote, the answer is for the oldest question of the agent.
            let index = open.iter().position(|known| of_asker(known) && quoted(known));
            let index = index.or_else(|| open.iter().position(of_asker));
            index.map(|index| open.remove(index)).into_iter().collect()
        }
        // The agent continues, so its approval was answered in the pane.
        Message::Status(status) if is_past_approval(status.phase.as_deref()) => {
            let asker = &status.agent_id;
            open.extract_if(.., |known| known.asker == *asker && known.is_approval()).collect()
        }
        _ => Vec::new(),
    }
}

fn is_past_approval(phase: Option<&str>) -> bool {
    phase.is_some_and(|phase| phase != AgentState::WaitingApproval.name())
}
