//! Unanswered questions: each is repeated when it has waited too long, first to the supervisor and then to the user. Pure:
//! takes messages and the time, returns reminders.

use jiff::{SignedDuration, Timestamp};
use paw_broker::Message;
use paw_broker::message::FeedbackMessage;
use paw_core::AgentId;
use paw_core::text::{self, plural};

/// Prefix of a pending approval. It is answered in the pane, not by a message.
const APPROVAL: &str = "[approval]";
const DIRECTIVE: &str = "[directive]";
/// The most open questions kept; the oldest is dropped.
const MOST: usize = 256;
/// The longest excerpt of a question in a reminder.
const LONGEST: usize = 200;

/// The open questions of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredQuestions {
    window: SignedDuration,
    open: Vec<OpenQuestion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenQuestion {
    agent: AgentId,
    text: String,
    at: Timestamp,
    raised: i32,
}

impl UnansweredQuestions {
    /// `None` if reminders are off.
    pub fn with_window(window_seconds: u64) -> Option<Self> {
        let seconds = i64::try_from(window_seconds).ok().filter(|seconds| *seconds > 0)?;
        Some(Self { window: SignedDuration::from_secs(seconds), open: Vec::new() })
    }

    /// Records a message of the session.
    pub fn record(&mut self, message: &Message, at: Timestamp) {
        match message {
            Message::Question(question) => self.ask(&question.agent_id, &question.question, at),
            Message::Blocked(blocked) if blocked.from.as_str() == AgentId::SUPERVISOR => {
                self.ask(&blocked.agent_id, &blocked.needs, at);
            }
            Message::Answer(answer) => {
                let is_meant =
                    |one: &OpenQuestion| answer.re.as_ref().is_none_or(|re| one.text.contains(re.trim()));
                let of_agent = |one: &OpenQuestion| one.agent == answer.agent_id;
                // An answer whose `re` matches no question answers all of them.
                let named = self.open.iter().any(|one| of_agent(one) && is_meant(one));
                self.open.retain(|one| !of_agent(one) || (named && !is_meant(one)));
            }
            Message::Feedback(feedback) if feedback.errors.iter().any(|text| text.starts_with(DIRECTIVE)) => {
                self.settle(&feedback.agent_id, |_| true);
            }
            Message::Verified(verified) => self.settle(&verified.agent_id, |_| true),
            Message::Status(status) if status.status == "done" => self.settle(&status.agent_id, |_| true),
            Message::Status(status) if status.is_past_approval() => {
                self.settle(&status.agent_id, |one| one.text.starts_with(APPROVAL));
            }
            _ => {}
        }
    }

    fn ask(&mut self, agent: &AgentId, text: &str, at: Timestamp) {
        // A repeated question keeps the time at which it was first asked.
        if self.open.iter().any(|one| one.agent == *agent && one.text == text) {
            return;
        }
        if self.open.len() >= MOST {
            self.open.remove(0);
        }
        self.open.push(OpenQuestion { agent: agent.clone(), text: text.to_owned(), at, raised: 0 });
    }

    fn settle(&mut self, agent: &AgentId, which: impl Fn(&OpenQuestion) -> bool) {
        self.open.retain(|one| one.agent != *agent || !which(one));
    }

    /// When the next reminder is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        let due = |one: &OpenQuestion| {
            let wait = self.window.saturating_mul(one.raised.saturating_add(1));
            one.at.checked_add(wait).unwrap_or(Timestamp::MAX)
        };
        self.open.iter().map(due).min()
    }

    /// The reminders that are due now. The first one goes to the supervisor if there is one, later ones to the user.
    pub fn take_due(&mut self, supervised: bool, now: Timestamp) -> Vec<Message> {
        let mut reminders = Vec::new();
        for one in &mut self.open {
            let waited = now.duration_since(one.at);
            if waited < self.window.saturating_mul(one.raised.saturating_add(1)) {
                continue;
            }
            // After a long pause, send one reminder and not one per window.
            let windows = waited.as_secs() / self.window.as_secs().max(1);
            one.raised = i32::try_from(windows).unwrap_or(i32::MAX).max(one.raised.saturating_add(1));
            let first = one.raised == 1;
            reminders.push(reminder(one, supervised && first, waited));
        }
        reminders
    }
}

fn reminder(one: &OpenQuestion, to_supervisor: bool, waited: SignedDuration) -> Message {
    let person = || AgentId::new(AgentId::OPERATOR).unwrap_or_else(|_| AgentId::supervisor());
    let whom = if to_supervisor { AgentId::supervisor() } else { person() };
    let question = text::reveal(&text::truncate_chars(&one.text, LONGEST));
    let how = if one.text.starts_with(APPROVAL) { "" } else { " (git paw say answer)" };
    let waited = match waited.as_mins() {
        0 => plural(waited.as_secs(), "second"),
        minutes => plural(minutes, "minute"),
    };
    let text = format!("[waiting] {} has waited {waited} for an answer{how}: {question}", one.agent);
    FeedbackMessage::new(whom, one.agent.clone(), vec![text]).into()
}

#[cfg(test)]
mod tests {
    use paw_broker::message::{AnswerMessage, BlockedMessage, QuestionMessage, StatusMessage};
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn id(name: &str) -> AgentId {
        AgentId::new(name).unwrap()
    }

    fn asked(text: &str) -> UnansweredQuestions {
        let mut open = UnansweredQuestions::with_window(900).unwrap();
        open.record(&QuestionMessage::new(id("feat-x"), text).into(), at(0));
        open
    }

    fn reminders_of(messages: &[Message]) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for message in messages {
            let Message::Feedback(feedback) = message else { panic!("{message:?}") };
            found.push((feedback.agent_id.as_str(), feedback.errors[0].as_str()));
        }
        found
    }

    #[test]
    fn an_open_question_is_repeated_once_per_window() {
        let mut open = asked("may I rename Token?");
        assert!(open.take_due(true, at(899)).is_empty());
        let first = open.take_due(true, at(900));
        let text =
            "[waiting] feat-x has waited 15 minutes for an answer (git paw say answer): may I rename Token?";
        assert_eq!(reminders_of(&first), [("supervisor", text)]);
        assert!(open.take_due(true, at(1700)).is_empty());
        assert_eq!(
            reminders_of(&open.take_due(true, at(1800)))[0].0,
            "operator",
            "the supervisor did not help"
        );
        assert_eq!(open.take_due(true, at(99_999)).len(), 1, "after a long pause");
        assert!(open.take_due(true, at(100_000)).is_empty());
    }

    #[test]
    fn reminders_go_to_the_user_without_a_supervisor() {
        assert_eq!(reminders_of(&asked("x?").take_due(false, at(900)))[0].0, "operator");
    }

    #[test]
    fn a_window_of_zero_turns_reminders_off() {
        assert_eq!(UnansweredQuestions::with_window(0), None);
        assert_eq!(UnansweredQuestions::with_window(u64::MAX), None);
    }

    #[test]
    fn an_answer_closes_only_the_question_it_names() {
        let mut open = asked("may I rename Token?");
        open.record(&QuestionMessage::new(id("feat-x"), "which port?").into(), at(1));
        let mut answer = AnswerMessage::new(id("feat-x"), id("supervisor"), "9119");
        answer.re = Some("which port?".into());
        open.record(&answer.clone().into(), at(2));
        assert_eq!(open.take_due(true, at(5000)).len(), 1);
        answer.re = Some("the renaming".into());
        open.record(&answer.into(), at(3));
        assert!(open.take_due(true, at(9000)).is_empty(), "it can only mean the one that is left");
    }

    #[test]
    fn a_directive_or_done_closes_an_agents_questions() {
        let directive =
            FeedbackMessage::new(id("feat-x"), id("operator"), vec!["[directive] rename it".into()]);
        let warning =
            FeedbackMessage::new(id("feat-x"), id("supervisor"), vec!["[conflict-detector] a.rs".into()]);
        for (message, open) in [
            (Message::from(directive), 0),
            (warning.into(), 1),
            (StatusMessage::new(id("feat-x"), "done").into(), 0),
            (StatusMessage::new(id("feat-x"), "working").into(), 1),
            (StatusMessage::new(id("feat-y"), "done").into(), 1),
        ] {
            let mut waiting = asked("x?");
            waiting.record(&message, at(1));
            assert_eq!(waiting.take_due(true, at(900)).len(), open, "{message:?}");
        }
    }

    #[test]
    fn an_approval_closes_when_its_agent_continues() {
        let mut open = asked("[approval] feat-x wants: make deploy");
        let mut status = StatusMessage::new(id("feat-x"), "waiting");
        status.phase = Some("waiting_approval".into());
        open.record(&status.clone().into(), at(1));
        assert_eq!(open.clone().take_due(true, at(900)).len(), 1);
        status.phase = Some("working".into());
        open.record(&status.into(), at(2));
        assert!(open.take_due(true, at(900)).is_empty());
    }

    #[test]
    fn an_agent_blocked_on_the_supervisor_counts_as_a_question() {
        let mut open = UnansweredQuestions::with_window(60).unwrap();
        open.record(&BlockedMessage::new(id("feat-x"), "a decision", id("supervisor")).into(), at(0));
        open.record(&BlockedMessage::new(id("feat-y"), "the schema", id("feat-x")).into(), at(0));
        let reminders = open.take_due(true, at(60));
        assert_eq!(
            reminders_of(&reminders),
            [(
                "supervisor",
                "[waiting] feat-x has waited 1 minute for an answer (git paw say answer): a decision"
            )]
        );
    }

    proptest! {
        #[test]
        fn a_reminder_is_always_one_line(text in "\\PC{0,40}|[\\x00-\\x1f]{1,5}") {
            let mut open = asked(&text);
            for message in open.take_due(true, at(900)) {
                let Message::Feedback(feedback) = message else { panic!() };
                prop_assert!(!feedback.errors[0].contains(char::is_control));
            }
        }
    }
}
