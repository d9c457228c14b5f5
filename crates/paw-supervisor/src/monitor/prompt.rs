//! The prompt an agent waits at, and how it was handled. Pure: each prompt is judged once, and answered or escalated once.

use jiff::{SignedDuration, Timestamp};

/// A prompt may be drawn this long after a hook reported it.
const DRAWN: SignedDuration = SignedDuration::from_secs(3);
/// A prompt still shown this long after it was answered has ignored the answer.
const ANSWER_TIMEOUT: SignedDuration = SignedDuration::from_secs(5);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CurrentPrompt(Option<HandledPrompt>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct HandledPrompt {
    what: String,
    since: Timestamp,
    done: PromptHandling,
    /// A hook reported it, and not only the screen.
    by_hook: bool,
}

/// How a prompt was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptHandling {
    /// A key was pressed.
    Answered,
    /// The user was asked.
    Escalated,
}

/// What to do about a prompt now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptStep {
    Judge,
    /// It was answered and is still shown.
    AnswerIgnored,
    Nothing,
}

impl CurrentPrompt {
    /// What to do about a request to approve `what`.
    pub(super) fn next_step(&self, what: &str, now: Timestamp) -> PromptStep {
        match &self.0 {
            Some(handled) if handled.what == what => {
                let late = now.duration_since(handled.since) >= ANSWER_TIMEOUT;
                if handled.done == PromptHandling::Answered && late {
                    PromptStep::AnswerIgnored
                } else {
                    PromptStep::Nothing
                }
            }
            _ => PromptStep::Judge,
        }
    }

    /// Whether a request that a hook reports is a new one. Hooks report each request once, so a second report about the same
    /// command is another request, even if no capture showed the screen in between.
    pub(super) fn is_new_request(&self, what: &str) -> bool {
        self.0.as_ref().is_none_or(|handled| handled.what != what || handled.by_hook)
    }

    pub(super) fn set(&mut self, what: &str, done: PromptHandling, now: Timestamp) {
        self.0 = Some(HandledPrompt { what: what.to_owned(), since: now, done, by_hook: false });
    }

    /// The user was asked about a request that a hook reported.
    pub(super) fn set_reported(&mut self, what: &str, now: Timestamp) {
        let done = PromptHandling::Escalated;
        self.0 = Some(HandledPrompt { what: what.to_owned(), since: now, done, by_hook: true });
    }

    /// Forgets the prompt if the screen no longer shows one.
    pub(super) fn clear_if_stale(&mut self, now: Timestamp) {
        self.0.take_if(|handled| now.duration_since(handled.since) >= DRAWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_prompt_is_judged_once() {
        let mut prompt = CurrentPrompt::default();
        assert_eq!(prompt.next_step("ls", at(0)), PromptStep::Judge);
        prompt.set("ls", PromptHandling::Escalated, at(0));
        for second in [0, 1, 100] {
            assert_eq!(prompt.next_step("ls", at(second)), PromptStep::Nothing);
        }
        assert_eq!(prompt.next_step("pwd", at(101)), PromptStep::Judge, "another one");
    }

    #[test]
    fn a_prompt_reported_before_it_is_drawn_is_not_judged_again() {
        let mut prompt = CurrentPrompt::default();
        prompt.set("ls", PromptHandling::Escalated, at(0));
        prompt.clear_if_stale(at(1));
        assert_eq!(prompt.next_step("ls", at(2)), PromptStep::Nothing);
        prompt.clear_if_stale(at(9));
        assert_eq!(prompt.next_step("ls", at(10)), PromptStep::Judge, "it was asked again");
    }

    #[test]
    fn a_second_request_for_the_same_command_is_new_even_if_no_capture_came_between() {
        let mut prompt = CurrentPrompt::default();
        assert!(prompt.is_new_request("ls"));
        prompt.set_reported("ls", at(0));
        assert_eq!(prompt.next_step("ls", at(1)), PromptStep::Nothing, "the screen shows the same request");
        assert!(prompt.is_new_request("ls"));
        prompt.set("ls", PromptHandling::Escalated, at(2));
        assert!(!prompt.is_new_request("ls"), "a late report of what the screen has shown");
    }

    #[test]
    fn a_prompt_that_ignores_its_answer_is_escalated_once() {
        let mut prompt = CurrentPrompt::default();
        prompt.set("ls", PromptHandling::Answered, at(0));
        assert_eq!(prompt.next_step("ls", at(1)), PromptStep::Nothing, "never a second key");
        assert_eq!(prompt.next_step("ls", at(6)), PromptStep::AnswerIgnored);
        prompt.set("ls", PromptHandling::Escalated, at(6));
        assert_eq!(prompt.next_step("ls", at(60)), PromptStep::Nothing);
    }
}
