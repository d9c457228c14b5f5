//! Repeated questions: an agent that asks the same question twice in a row has asked once. Pure.
//!
//! Only within a minute, and only until the question is answered, so that no question is lost.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;

use crate::message::Message;

/// After this time the same text is a new question.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// Agents whose last question is kept.
const MAX_AGENTS: usize = 512;

/// The last unanswered question of each agent.
#[derive(Debug, Default)]
pub struct OpenQuestions(HashMap<AgentId, AskedQuestion>);

#[derive(Debug)]
struct AskedQuestion {
    text: u64,
    at: Timestamp,
    seq: u64,
}

impl OpenQuestions {
    /// The sequence number of the open question that `message` repeats.
    pub fn find_repeated(&self, message: &Message, at: Timestamp) -> Option<u64> {
        let Message::Question(question) = message else { return None };
        let asked = self.0.get(&question.agent_id)?;
        let is_same = asked.text == digest(&question.question) && at.duration_since(asked.at) < WINDOW;
        is_same.then_some(asked.seq)
    }

    /// Updates the open questions with a stored message.
    pub fn apply(&mut self, message: &Message, at: Timestamp, seq: u64) {
        match message {
            Message::Question(question) => {
                if self.0.len() >= MAX_AGENTS {
                    self.0.clear();
                }
                self.0.insert(
                    question.agent_id.clone(),
                    AskedQuestion { text: digest(&question.question), at, seq },
                );
            }
            Message::Answer(answer) => _ = self.0.remove(&answer.agent_id),
            Message::Feedback(feedback) => _ = self.0.remove(&feedback.agent_id),
            _ => {}
        }
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AnswerMessage, QuestionMessage};

    fn question(agent: &str, text: &str) -> Message {
        QuestionMessage::new(AgentId::new(agent).unwrap(), text).into()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_repeated_question_counts_once_within_a_minute() {
        let mut open = OpenQuestions::default();
        open.apply(&question("a", "why?"), at(0), 7);
        assert_eq!(open.find_repeated(&question("a", "why?"), at(59)), Some(7));
        assert_eq!(open.find_repeated(&question("a", "how?"), at(59)), None);
        assert_eq!(open.find_repeated(&question("b", "why?"), at(59)), None);
        assert_eq!(open.find_repeated(&question("a", "why?"), at(60)), None);
    }

    #[test]
    fn an_answered_question_can_be_asked_again_at_once() {
        let mut open = OpenQuestions::default();
        open.apply(&question("a", "why?"), at(0), 7);
        let id = |text: &str| AgentId::new(text).unwrap();
        open.apply(&AnswerMessage::new(id("a"), id("operator"), "because").into(), at(1), 8);
        assert_eq!(open.find_repeated(&question("a", "why?"), at(2)), None);
    }
}
