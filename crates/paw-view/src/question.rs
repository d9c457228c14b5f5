//! Questions that wait for an answer, approvals among them.

use jiff::Timestamp;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::agent::AgentState;

/// Begins the question about an approval. It is answered in the pane of the agent, not by a message.
const APPROVAL: &str = "[approval]";
/// More than a person would answer.
const MOST: usize = 256;

/// An agent waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The number of the message that asked it last.
    pub seq: u64,
    pub at: Timestamp,
    pub asker: AgentId,
    /// Word for word, so that an answer can quote it.
    pub text: String,
}

impl OpenQuestion {
    /// Whether it is about a command or an edit that the agent wants to make.
    pub fn is_approval(&self) -> bool {
        self.text.starts_with(APPROVAL)
    }
}

/// Updates the open questions, and returns those that this message closes.
pub(crate) fn hear(open: &mut Vec<OpenQuestion>, stored: &StoredMessage) -> Vec<OpenQuestion> {
    match &stored.message {
        Message::Question(question) => {
            // A repeated question is still one question.
            open.retain(|known| known.asker != question.agent_id || known.text != question.question);
            if open.len() >= MOST {
                open.remove(0);
            }
            open.push(OpenQuestion {
                seq: stored.seq,
                at: stored.at,
                asker: question.agent_id.clone(),
                text: question.question.clone(),
            });
            Vec::new()
        }
        Message::Answer(answer) => {
            let of_asker = |known: &OpenQuestion| known.asker == answer.agent_id;
            let quoted = |known: &OpenQuestion| {
                answer.re.as_ref().is_some_and(|re| *re == known.text || *re == known.seq.to_string())
            };
            // Without a quote it answers the oldest question of the agent.
            let place = open.iter().position(|known| of_asker(known) && quoted(known));
            let place = place.or_else(|| open.iter().position(of_asker));
            place.map(|place| open.remove(place)).into_iter().collect()
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
