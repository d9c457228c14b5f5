//! A rate limit that an agent hit, and when to retry. Pure.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::reset::{is_exact, parse_reset_time};

/// Margin after a time of day: clocks differ, and seconds are rarely given.
const AFTER_A_TIME: SignedDuration = SignedDuration::from_mins(1);
const AFTER_AN_EXACT_TIME: SignedDuration = SignedDuration::from_secs(3);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RateLimit {
    since: Timestamp,
    resets: Option<String>,
    /// When to retry; `None` if unknown or already retried.
    again: Option<Timestamp>,
}

impl RateLimit {
    /// A limit that began at `since` and that the CLI says resets at `resets`.
    pub(super) fn new(since: Timestamp, resets: Option<&str>, zone: &TimeZone, now: Timestamp) -> Self {
        let again = resets.and_then(|text| {
            let after = if is_exact(text) { AFTER_AN_EXACT_TIME } else { AFTER_A_TIME };
            parse_reset_time(text, now, zone)?.checked_add(after).ok()
        });
        Self { since, resets: resets.map(str::to_owned), again }
    }

    pub(super) fn began(&self) -> Timestamp {
        self.since
    }

    /// Whether this is the same limit with the same reset text.
    pub(super) fn is(&self, since: Timestamp, resets: Option<&str>) -> bool {
        self.since == since && self.resets.as_deref() == resets
    }

    /// Whether the limit has reset. Returns true once.
    pub(super) fn is_over(&mut self, now: Timestamp) -> bool {
        self.again.take_if(|again| now >= *again).is_some()
    }
}
