//! The approval an agent waits for, and what was done about it. Pure: each is judged once and answered or passed on once.

use jiff::{SignedDuration, Timestamp};

/// A prompt may be drawn this long after it was told of.
const DRAWN: SignedDuration = SignedDuration::from_secs(3);
/// A prompt that still stands this long after its answer has not taken it.
const TAKEN: SignedDuration = SignedDuration::from_secs(5);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Standing(Option<Stands>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stands {
    what: String,
    since: Timestamp,
    done: Done,
}

/// What was done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// A key was pressed.
    Answered,
    /// A person was asked.
    PassedOn,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Judge,
    /// It was answered, and stands there all the same.
    NotTaken,
    Nothing,
}

impl Standing {
    /// An approval of `what` is asked.
    pub(super) fn see(&self, what: &str, now: Timestamp) -> Next {
        match &self.0 {
            Some(stands) if stands.what == what => {
                let late = now.duration_since(stands.since) >= TAKEN;
                if stands.done == Done::Answered && late { Next::NotTaken } else { Next::Nothing }
            }
            _ => Next::Judge,
        }
    }

    pub(super) fn note(&mut self, what: &str, done: Done, now: Timestamp) {
        self.0 = Some(Stands { what: what.to_owned(), since: now, done });
    }

    /// The screen asks nothing.
    pub(super) fn see_nothing(&mut self, now: Timestamp) {
        self.0.take_if(|stands| now.duration_since(stands.since) >= DRAWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_same_prompt_is_judged_once() {
        let mut standing = Standing::default();
        assert_eq!(standing.see("ls", at(0)), Next::Judge);
        standing.note("ls", Done::PassedOn, at(0));
        for second in [0, 1, 100] {
            assert_eq!(standing.see("ls", at(second)), Next::Nothing);
        }
        assert_eq!(standing.see("pwd", at(101)), Next::Judge, "another one");
    }

    #[test]
    fn what_was_told_of_before_it_is_drawn_is_not_judged_again() {
        let mut standing = Standing::default();
        standing.note("ls", Done::PassedOn, at(0));
        standing.see_nothing(at(1));
        assert_eq!(standing.see("ls", at(2)), Next::Nothing);
        standing.see_nothing(at(9));
        assert_eq!(standing.see("ls", at(10)), Next::Judge, "it was asked again");
    }

    #[test]
    fn a_prompt_that_does_not_take_its_answer_is_passed_on_once() {
        let mut standing = Standing::default();
        standing.note("ls", Done::Answered, at(0));
        assert_eq!(standing.see("ls", at(1)), Next::Nothing, "never a second key");
        assert_eq!(standing.see("ls", at(6)), Next::NotTaken);
        standing.note("ls", Done::PassedOn, at(6));
        assert_eq!(standing.see("ls", at(60)), Next::Nothing);
    }
}
