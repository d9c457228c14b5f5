//! The current time and elapsed times.
#![expect(clippy::disallowed_methods, reason = "the only module that reads the clock")]

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The wall clock, in UTC.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Measures elapsed time on a monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// The rest of `limit`, at least zero.
    pub fn remaining(&self, limit: Duration) -> Duration {
        limit.saturating_sub(self.elapsed())
    }
}
