//! What time it is, and how long something took.
#![expect(clippy::disallowed_methods, reason = "this is the door to the clock")]

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The wall clock, in UTC.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Time passed since it was started, on a clock that never goes backwards.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// What is left of `limit`, or zero.
    pub fn remaining(&self, limit: Duration) -> Duration {
        limit.saturating_sub(self.elapsed())
    }
}
