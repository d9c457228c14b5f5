//! The prompt an agent waits at, and how it was handled. Pure: each prompt is judged once, and answered or escalated once.

use jiff::{SignedDuration, Timestamp};

/// A prompt may be drawn this long after a hook reported it.
const DRAWN: SignedDuration = SignedDuration::from_secs(3);
/// A prompt still shown this long after it was answered has ignored the answer.
const ANSWER_TIMEOUT: SignedDuration = SignedDuration::from_secs(5);
/// A CLI that draws reads its keys, too: what is drawn this long after an answer is drawn after it was read.
const READ: SignedDuration = SignedDuration::from_secs(1);
/// The most answers in a row to prompts for the same command of which none was seen to disappear.
const MOST_ANSWERS: u32 = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CurrentPrompt(Option<HandledPrompt>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct HandledPrompt {
    what: String,
    since: Timestamp,
    done: PromptHandling,
    /// A hook reported it, and not only the screen.
    by_hook: bool,
    /// How many prompts for it were answered in a row.
    answers: u32,
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
    /// What to do about a request to approve `what`, on a screen whose text changed last at `progress`. A prompt that ignores its
    /// answer leaves the screen as it was; if the text around it has changed, the CLI asks for the same command again.
    pub(super) fn next_step(&self, what: &str, progress: Timestamp, now: Timestamp) -> PromptStep {
        let Some(handled) = self.0.as_ref().filter(|handled| handled.what == what) else {
            return PromptStep::Judge;
        };
        let is_late = now.duration_since(handled.since) >= ANSWER_TIMEOUT;
        if handled.done == PromptHandling::Escalated || !is_late {
            return PromptStep::Nothing;
        }
        let is_another = progress.duration_since(handled.since) >= READ && handled.answers < MOST_ANSWERS;
        if is_another { PromptStep::Judge } else { PromptStep::AnswerIgnored }
    }

    /// Whether a request that a hook reports is a new one. Hooks report each request once, so a second report about the same
    /// command is another request, even if no capture showed the screen in between.
    pub(super) fn is_new_request(&self, what: &str) -> bool {
        self.0.as_ref().is_none_or(|handled| handled.what != what || handled.by_hook)
    }

    pub(super) fn set(&mut self, what: &str, done: PromptHandling, now: Timestamp) {
        let before =
            self.0.take().filter(|handled| handled.what == what).map_or(0, |handled| handled.answers);
        let answers = before + u32::from(done == PromptHandling::Answered);
        self.0 = Some(HandledPrompt { what: what.to_owned(), since: now, done, by_hook: false, answers });
    }

    /// The user was asked about a request that a hook reported.
    pub(super) fn set_reported(&mut self, what: &str, now: Timestamp) {
        let done = PromptHandling::Escalated;
        self.0 = Some(HandledPrompt { what: what.to_owned(), since: now, done, by_hook: true, answers: 0 });
    }

    /// Forgets the prompt if the screen no longer shows one. One that was answered was on the screen before.
    pub(super) fn clear_if_stale(&mut self, now: Timestamp) {
        self.0.take_if(|handled| {
            let limit = if handled.done == PromptHandling::Answered { READ } else { DRAWN };
            now.duration_since(handled.since) >= limit
        });
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
        assert_eq!(prompt.next_step("ls", at(0), at(0)), PromptStep::Judge);
        prompt.set("ls", PromptHandling::Escalated, at(0));
        for second in [0, 1, 100] {
            assert_eq!(prompt.next_step("ls", at(0), at(second)), PromptStep::Nothing);
        }
        assert_eq!(prompt.next_step("pwd", at(0), at(101)), PromptStep::Judge, "another one");
    }

    #[test]
    fn a_prompt_reported_before_it_is_drawn_is_not_judged_again() {
        let mut prompt = CurrentPrompt::default();
        prompt.set("ls", PromptHandling::Escalated, at(0));
        prompt.clear_if_stale(at(1));
        assert_eq!(prompt.next_step("ls", at(0), at(2)), PromptStep::Nothing);
        prompt.clear_if_stale(at(9));
        assert_eq!(prompt.next_step("ls", at(0), at(10)), PromptStep::Judge, "it was asked again");
    }

    #[test]
    fn a_second_request_for_the_same_command_is_new_even_if_no_capture_came_between() {
        let mut prompt = CurrentPrompt::default();
        assert!(prompt.is_new_request("ls"));
        prompt.set_reported("ls", at(0));
        assert_eq!(
            prompt.next_step("ls", at(0), at(1)),
            PromptStep::Nothing,
            "the screen shows the same request"
        );
        assert!(prompt.is_new_request("ls"));
        prompt.set("ls", PromptHandling::Escalated, at(2));
        assert!(!prompt.is_new_request("ls"), "a late report of what the screen has shown");
    }

    #[test]
    fn a_prompt_for_the_same_command_on_a_changed_screen_is_another_one() {
        let mut prompt = CurrentPrompt::default();
        prompt.set("ls", PromptHandling::Answered, at(0));
        prompt.clear_if_stale(at(1));
        assert_eq!(prompt.next_step("ls", at(1), at(2)), PromptStep::Judge, "the screen showed none");
        prompt.set("ls", PromptHandling::Answered, at(2));
        assert_eq!(prompt.next_step("ls", at(4), at(4)), PromptStep::Nothing, "never a second key at once");
        assert_eq!(prompt.next_step("ls", at(4), at(8)), PromptStep::Judge, "no capture came between");
        for second in [8, 14] {
            prompt.set("ls", PromptHandling::Answered, at(second));
        }
        assert_eq!(
            prompt.next_step("ls", at(20), at(20)),
            PromptStep::AnswerIgnored,
            "a screen that never rests"
        );
    }

    #[test]
    fn a_prompt_that_ignores_its_answer_is_escalated_once() {
        let mut prompt = CurrentPrompt::default();
        prompt.set("ls", PromptHandling::Answered, at(0));
        assert_eq!(prompt.next_step("ls", at(0), at(1)), PromptStep::Nothing, "never a second key");
        assert_eq!(prompt.next_step("ls", at(0), at(6)), PromptStep::AnswerIgnored);
        prompt.set("ls", PromptHandling::Escalated, at(6));
        assert_eq!(prompt.next_step("ls", at(0), at(60)), PromptStep::Nothing);
    }
}
