//! A question asked twice in a row is asked once. Pure.
//!
//! Only for a while, and only until somebody answers: a question must never be swallowed for good.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;

use crate::message::Message;

/// After that long the same words are a new question.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// Agents whose last question is remembered.
const MOST_AGENTS: usize = 512;

/// The last question of each agent that is still open.
#[derive(Debug, Default)]
pub struct OpenQuestions(HashMap<AgentId, AskedQuestion>);

#[derive(Debug)]
struct AskedQuestion {
    text: u64,
    at: Timestamp,
    seq: u64,
}

impl OpenQuestions {
    /// The number under which the very same question was stored a moment ago.
    pub fn repeats(&self, message: &Message, at: Timestamp) -> Option<u64> {
        let Message::Question(question) = message else { return None };
        let asked = self.0.get(&question.agent_id)?;
        let is_same = asked.text == digest(&question.question) && at.duration_since(asked.at) < WINDOW;
        is_same.then_some(asked.seq)
    }

    /// Takes in a message that was stored.
    pub fn note(&mut self, message: &Message, at: Timestamp, seq: u64) {
        match message {
            Message::Question(question) => {
                if self.0.len() >= MOST_AGENTS {
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
    fn the_same_question_counts_once_within_a_minute_and_again_later() {
        let mut open = OpenQuestions::default();
        open.note(&question("a", "why?"), at(0), 7);
        assert_eq!(open.repeats(&question("a", "why?"), at(59)), Some(7));
        assert_eq!(open.repeats(&question("a", "how?"), at(59)), None);
        assert_eq!(open.repeats(&question("b", "why?"), at(59)), None);
        assert_eq!(open.repeats(&question("a", "why?"), at(60)), None);
    }

    #[test]
    fn an_answered_question_may_be_asked_again_at_once() {
        let mut open = OpenQuestions::default();
        open.note(&question("a", "why?"), at(0), 7);
        let id = |text: &str| AgentId::new(text).unwrap();
        open.note(&AnswerMessage::new(id("a"), id("operator"), "because").into(), at(1), 8);
        assert_eq!(open.repeats(&question("a", "why?"), at(2)), None);
    }
}
