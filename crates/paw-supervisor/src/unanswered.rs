//! Questions that nobody answers: each is raised again when it has waited for long, and then once more to a person. Pure:
//! messages and the time come in, what to say comes out.

use jiff::{SignedDuration, Timestamp};
use paw_broker::Message;
use paw_broker::message::Feedback;
use paw_core::AgentId;
use paw_core::text::{self, plural};

/// Begins the text of an approval that waits in a pane. It is answered there, not by a message.
const APPROVAL: &str = "[approval]";
const DIRECTIVE: &str = "[directive]";
/// What an agent that waits for an approval says it is at.
const WAITING_APPROVAL: &str = "waiting_approval";
/// More than anybody would answer.
const MOST: usize = 256;
/// How much of a question is repeated.
const LONGEST: usize = 200;

/// The questions of a session that are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    window: SignedDuration,
    open: Vec<Asked>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    agent: AgentId,
    text: String,
    at: Timestamp,
    raised: i32,
}

impl Unanswered {
    /// Nothing where nobody wants to be reminded.
    pub fn after(window_seconds: u64) -> Option<Self> {
        let seconds = i64::try_from(window_seconds).ok().filter(|seconds| *seconds > 0)?;
        Some(Self { window: SignedDuration::from_secs(seconds), open: Vec::new() })
    }

    /// Takes in a message of the session.
    pub fn hear(&mut self, message: &Message, at: Timestamp) {
        match message {
            Message::Question(question) => self.ask(&question.agent_id, &question.question, at),
            Message::Blocked(blocked) if blocked.from.as_str() == AgentId::SUPERVISOR => {
                self.ask(&blocked.agent_id, &blocked.needs, at);
            }
            Message::Answer(answer) => {
                let is_meant = |one: &Asked| answer.re.as_ref().is_none_or(|re| one.text.contains(re.trim()));
                let of_agent = |one: &Asked| one.agent == answer.agent_id;
                // An answer to something that was never asked like this still is one.
                let named = self.open.iter().any(|one| of_agent(one) && is_meant(one));
                self.open.retain(|one| !of_agent(one) || (named && !is_meant(one)));
            }
            Message::Feedback(feedback) if feedback.errors.iter().any(|text| text.starts_with(DIRECTIVE)) => {
                self.settle(&feedback.agent_id, |_| true);
            }
            Message::Verified(verified) => self.settle(&verified.agent_id, |_| true),
            Message::Status(status) if status.status == "done" => self.settle(&status.agent_id, |_| true),
            Message::Status(status) if status.phase.as_deref().is_some_and(|now| now != WAITING_APPROVAL) => {
                self.settle(&status.agent_id, |one| one.text.starts_with(APPROVAL));
            }
            _ => {}
        }
    }

    fn ask(&mut self, agent: &AgentId, text: &str, at: Timestamp) {
        // Asked again is still one question, and waits since it was first asked.
        if self.open.iter().any(|one| one.agent == *agent && one.text == text) {
            return;
        }
        if self.open.len() >= MOST {
            self.open.remove(0);
        }
        self.open.push(Asked { agent: agent.clone(), text: text.to_owned(), at, raised: 0 });
    }

    fn settle(&mut self, agent: &AgentId, which: impl Fn(&Asked) -> bool) {
        self.open.retain(|one| one.agent != *agent || !which(one));
    }

    /// When the next one has waited too long.
    pub fn next_due(&self) -> Option<Timestamp> {
        let due = |one: &Asked| {
            let wait = self.window.saturating_mul(one.raised.saturating_add(1));
            one.at.checked_add(wait).unwrap_or(Timestamp::MAX)
        };
        self.open.iter().map(due).min()
    }

    /// What has waited too long by now, as messages. The first reminder is for whoever supervises; when that does not
    /// help, every later one is for the person at the keyboard.
    pub fn due(&mut self, supervised: bool, now: Timestamp) -> Vec<Message> {
        let mut said = Vec::new();
        for one in &mut self.open {
            let waited = now.duration_since(one.at);
            if waited < self.window.saturating_mul(one.raised.saturating_add(1)) {
                continue;
            }
            // However long nobody looked, it is said once.
            let windows = waited.as_secs() / self.window.as_secs().max(1);
            one.raised = i32::try_from(windows).unwrap_or(i32::MAX).max(one.raised.saturating_add(1));
            let first = one.raised == 1;
            said.push(reminder(one, supervised && first, waited));
        }
        said
    }
}

fn reminder(one: &Asked, to_supervisor: bool, waited: SignedDuration) -> Message {
    let person = || AgentId::new(AgentId::OPERATOR).unwrap_or_else(|_| AgentId::supervisor());
    let whom = if to_supervisor { AgentId::supervisor() } else { person() };
    let question = text::reveal(&text::truncate_chars(&one.text, LONGEST));
    let how = if one.text.starts_with(APPROVAL) { "" } else { " (git paw say answer)" };
    let waited = match waited.as_mins() {
        0 => plural(waited.as_secs(), "second"),
        minutes => plural(minutes, "minute"),
    };
    let text = format!("[waiting] {} has waited {waited} for an answer{how}: {question}", one.agent);
    Feedback::new(whom, one.agent.clone(), vec![text]).into()
}

#[cfg(test)]
mod tests {
    use paw_broker::message::{Answer, Blocked, Question, Status};
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn id(name: &str) -> AgentId {
        AgentId::new(name).unwrap()
    }

    fn asked(text: &str) -> Unanswered {
        let mut open = Unanswered::after(900).unwrap();
        open.hear(&Question::new(id("feat-x"), text).into(), at(0));
        open
    }

    fn told(messages: &[Message]) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for message in messages {
            let Message::Feedback(told) = message else { panic!("{message:?}") };
            found.push((told.agent_id.as_str(), told.errors[0].as_str()));
        }
        found
    }

    #[test]
    fn a_question_without_an_answer_is_raised_once_in_each_window() {
        let mut open = asked("may I rename Token?");
        assert!(open.due(true, at(899)).is_empty());
        let first = open.due(true, at(900));
        let text =
            "[waiting] feat-x has waited 15 minutes for an answer (git paw say answer): may I rename Token?";
        assert_eq!(told(&first), [("supervisor", text)]);
        assert!(open.due(true, at(1700)).is_empty());
        assert_eq!(told(&open.due(true, at(1800)))[0].0, "operator", "the supervisor did not help");
        assert_eq!(open.due(true, at(99_999)).len(), 1, "however long nobody looked");
        assert!(open.due(true, at(100_000)).is_empty());
    }

    #[test]
    fn without_a_supervisor_it_is_for_the_person() {
        assert_eq!(told(&asked("x?").due(false, at(900)))[0].0, "operator");
    }

    #[test]
    fn zero_reminds_nobody() {
        assert_eq!(Unanswered::after(0), None);
        assert_eq!(Unanswered::after(u64::MAX), None);
    }

    #[test]
    fn an_answer_ends_it_and_one_to_another_question_does_not() {
        let mut open = asked("may I rename Token?");
        open.hear(&Question::new(id("feat-x"), "which port?").into(), at(1));
        let mut answer = Answer::new(id("feat-x"), id("supervisor"), "9119");
        answer.re = Some("which port?".into());
        open.hear(&answer.clone().into(), at(2));
        assert_eq!(open.due(true, at(5000)).len(), 1);
        answer.re = Some("the renaming".into());
        open.hear(&answer.into(), at(3));
        assert!(open.due(true, at(9000)).is_empty(), "it can only mean the one that is left");
    }

    #[test]
    fn whoever_is_told_what_to_do_or_is_done_waits_no_more() {
        let directive = Feedback::new(id("feat-x"), id("operator"), vec!["[directive] rename it".into()]);
        let warning = Feedback::new(id("feat-x"), id("supervisor"), vec!["[conflict-detector] a.rs".into()]);
        for (message, open) in [
            (Message::from(directive), 0),
            (warning.into(), 1),
            (Status::new(id("feat-x"), "done").into(), 0),
            (Status::new(id("feat-x"), "working").into(), 1),
            (Status::new(id("feat-y"), "done").into(), 1),
        ] {
            let mut waiting = asked("x?");
            waiting.hear(&message, at(1));
            assert_eq!(waiting.due(true, at(900)).len(), open, "{message:?}");
        }
    }

    #[test]
    fn an_approval_is_over_when_its_agent_goes_on() {
        let mut open = asked("[approval] feat-x wants: make deploy");
        let mut status = Status::new(id("feat-x"), "waiting");
        status.phase = Some("waiting_approval".into());
        open.hear(&status.clone().into(), at(1));
        assert_eq!(open.clone().due(true, at(900)).len(), 1);
        status.phase = Some("working".into());
        open.hear(&status.into(), at(2));
        assert!(open.due(true, at(900)).is_empty());
    }

    #[test]
    fn who_is_blocked_on_the_supervisor_waits_as_well() {
        let mut open = Unanswered::after(60).unwrap();
        open.hear(&Blocked::new(id("feat-x"), "a decision", id("supervisor")).into(), at(0));
        open.hear(&Blocked::new(id("feat-y"), "the schema", id("feat-x")).into(), at(0));
        let said = open.due(true, at(60));
        assert_eq!(
            told(&said),
            [(
                "supervisor",
                "[waiting] feat-x has waited 1 minute for an answer (git paw say answer): a decision"
            )]
        );
    }

    proptest! {
        #[test]
        fn a_reminder_is_one_line_whatever_was_asked(text in "\\PC{0,40}|[\\x00-\\x1f]{1,5}") {
            let mut open = asked(&text);
            for message in open.due(true, at(900)) {
                let Message::Feedback(told) = message else { panic!() };
                prop_assert!(!told.errors[0].contains(char::is_control));
            }
        }
    }
}
