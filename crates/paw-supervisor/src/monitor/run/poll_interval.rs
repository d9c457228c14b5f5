//! When to capture panes. Pure.

use std::time::Duration;

/// The time between two captures; at most `longest`, even if nothing is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PollInterval {
    longest: Duration,
}

impl PollInterval {
    pub(super) fn new(stall_threshold_seconds: u64) -> Self {
        Self { longest: Duration::from_secs(stall_threshold_seconds.max(1)) }
    }

    /// How long to wait for the next poll when nothing has happened for `quiet`. While an agent waits for the user
    /// (`waits`), its answer is to be noticed within a second.
    pub(super) fn wait_after(self, quiet: Duration, waits: bool) -> Duration {
        let usual = match quiet.as_secs() {
            _ if waits => Duration::from_millis(700),
            0..10 => Duration::from_secs(1),
            10..60 => Duration::from_secs(2),
            60..300 => Duration::from_secs(5),
            _ => Duration::from_secs(10),
        };
        usual.min(self.longest)
    }

    /// Whether to capture the panes now: when something was drawn since the last time, and after a while in any case. All
    /// times are seconds of the wall clock.
    pub(super) fn is_capture_due(self, drawn: i64, polled_at: i64, now: i64) -> bool {
        let longest = i64::try_from(self.longest.as_secs()).unwrap_or(i64::MAX);
        // A clock that was set back must not stop the polling.
        drawn >= polled_at || now.saturating_sub(polled_at) >= longest || now < polled_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_pane_is_captured_after_the_configured_time() {
        let (usual, eager) = (PollInterval::new(30), PollInterval::new(5));
        assert!(usual.is_capture_due(100, 100, 100));
        assert_eq!([129, 130].map(|now| usual.is_capture_due(99, 100, now)), [false, true]);
        assert_eq!([104, 105].map(|now| eager.is_capture_due(99, 100, now)), [false, true]);
        assert!(usual.is_capture_due(99, 100, 50), "the clock was set back");
    }

    #[test]
    fn the_poll_interval_grows_up_to_the_configured_limit() {
        let waits = |poll_interval: PollInterval| {
            [0, 10, 60, 300, 99_999]
                .map(|quiet| poll_interval.wait_after(Duration::from_secs(quiet), false).as_secs())
        };
        assert_eq!(waits(PollInterval::new(30)), [1, 2, 5, 10, 10]);
        assert_eq!(waits(PollInterval::new(5)), [1, 2, 5, 5, 5]);
        assert!(PollInterval::new(30).wait_after(Duration::from_secs(99_999), true) < Duration::from_secs(1));
    }
}
