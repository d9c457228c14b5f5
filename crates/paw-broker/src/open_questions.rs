//! Repeated questions: an agent that asks the same question twice in a row has asked once. Pure.
//!
//! Only within a minute, and only until the question is answered or, for an approval, its prompt is gone, so that no question
//! is lost.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;

use crate::message::Message;
use crate::record::MAX_AGENTS;

/// After this time the same text is a new question.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);

/// The last unanswered question of each agent.
#[derive(Debug, Default)]
pub struct OpenQuestions(HashMap<AgentId, AskedQuestion>);

#[derive(Debug)]
struct AskedQuestion {
    text: u64,
    is_approval: bool,
    at: Timestamp,
    seq: u64,
}

impl OpenQuestions {
    /// The sequence number of the open question that `message` repeats.
    pub fn find_repeated(&self, message: &Message, at: Timestamp) -> Option<u64> {
        let Message::Question(question) = message else { return None };
        let asked = self.0.get(&question.agent_id)?;
        let is_same = asked.text == digest(&question.question) && is_near(at, asked.at);
        is_same.then_some(asked.seq)
    }

    /// Updates the open questions with a stored message.
    pub fn apply(&mut self, message: &Message, at: Timestamp, seq: u64) {
        match message {
            Message::Question(question) => {
                if self.0.len() >= MAX_AGENTS {
                    self.0.retain(|_, asked| is_near(at, asked.at));
                }
                if self.0.len() >= MAX_AGENTS {
                    self.0.clear();
                }
                let (text, is_approval) = (digest(&question.question), question.is_approval());
                self.0.insert(question.agent_id.clone(), AskedQuestion { text, is_approval, at, seq });
            }
            // The prompt was answered in the pane. The next one may be about the same command.
            Message::Status(status)
                if status.is_past_approval()
                    && self.0.get(&status.agent_id).is_some_and(|asked| asked.is_approval) =>
            {
                self.0.remove(&status.agent_id);
            }
            Message::Answer(answer) => _ = self.0.remove(&answer.agent_id),
            Message::Feedback(feedback) => _ = self.0.remove(&feedback.agent_id),
            _ => {}
        }
    }
}

/// The clock may have been set back in between.
fn is_near(at: Timestamp, asked: Timestamp) -> bool {
    at.duration_since(asked).abs() < WINDOW
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AnswerMessage, QuestionMessage, StatusMessage};

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
    fn questions_of_a_thousand_agents_are_kept_and_old_ones_leave_first() {
        let mut open = OpenQuestions::default();
        let name = |agent: usize| format!("host-{}-agent-{agent}", agent % 50);
        for agent in 0..1000 {
            open.apply(&question(&name(agent), "why?"), at(0), agent as u64);
        }
        for agent in 0..1000 {
            assert_eq!(open.find_repeated(&question(&name(agent), "why?"), at(1)), Some(agent as u64));
        }
        // With further ones, those that are older than a minute leave first.
        open.apply(&question("asker", "why?"), at(70), 1);
        for agent in 0..MAX_AGENTS - 500 {
            open.apply(&question(&format!("other-{agent}"), "why?"), at(70), 2);
            assert!(open.0.len() <= MAX_AGENTS);
        }
        assert_eq!(open.find_repeated(&question("asker", "why?"), at(71)), Some(1));
    }

    #[test]
    fn an_answered_question_can_be_asked_again_at_once() {
        let mut open = OpenQuestions::default();
        open.apply(&question("a", "why?"), at(0), 7);
        let id = |text: &str| AgentId::new(text).unwrap();
        open.apply(&AnswerMessage::new(id("a"), id("operator"), "because").into(), at(1), 8);
        assert_eq!(open.find_repeated(&question("a", "why?"), at(2)), None);
    }
    #[test]
    fn an_approval_for_the_same_command_is_asked_again_once_the_first_prompt_is_gone() {
        let mut open = OpenQuestions::default();
        let status = |phase: &str| {
            let mut status = StatusMessage::new(AgentId::new("a").unwrap(), "working");
            status.phase = Some(phase.to_owned());
            Message::from(status)
        };
        let approval = question("a", "[approval] a wants: make deploy");
        open.apply(&approval, at(0), 7);
        open.apply(&status("waiting_approval"), at(1), 8);
        assert_eq!(open.find_repeated(&approval, at(2)), Some(7), "the prompt is still shown");
        open.apply(&status("working"), at(3), 9);
        assert_eq!(open.find_repeated(&approval, at(4)), None);
        open.apply(&question("a", "why?"), at(5), 10);
        open.apply(&status("working"), at(6), 11);
        assert_eq!(
            open.find_repeated(&question("a", "why?"), at(7)),
            Some(10),
            "other questions wait for an answer"
        );
    }
}
