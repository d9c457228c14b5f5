//! A limit that an agent has met, and when it is tried again. Pure.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::reset::{is_exact, reset_at};

/// A time of the day may be of another clock, and is seldom told to the second.
const AFTER_A_TIME: SignedDuration = SignedDuration::from_mins(1);
const AFTER_AN_EXACT_TIME: SignedDuration = SignedDuration::from_secs(3);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    since: Timestamp,
    resets: Option<String>,
    /// When it is tried again; nothing if nobody knows, or it was tried.
    again: Option<Timestamp>,
}

impl Limit {
    /// One that began at `since` and whose end is told now as `resets`.
    pub(super) fn new(since: Timestamp, resets: Option<&str>, zone: &TimeZone, now: Timestamp) -> Self {
        let again = resets.and_then(|text| {
            let after = if is_exact(text) { AFTER_AN_EXACT_TIME } else { AFTER_A_TIME };
            reset_at(text, now, zone)?.checked_add(after).ok()
        });
        Self { since, resets: resets.map(str::to_owned), again }
    }

    pub(super) fn began(&self) -> Timestamp {
        self.since
    }

    /// Whether what is told now is what was told before.
    pub(super) fn is(&self, since: Timestamp, resets: Option<&str>) -> bool {
        self.since == since && self.resets.as_deref() == resets
    }

    /// Whether it is over by now. Said once.
    pub(super) fn is_over(&mut self, now: Timestamp) -> bool {
        self.again.take_if(|again| now >= *again).is_some()
    }
}
