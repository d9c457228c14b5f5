//! When panes are looked at. Pure.

use std::time::Duration;

/// How long a pane may draw nothing before it is looked at all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    longest: Duration,
}

impl Pace {
    pub(super) fn new(stall_threshold_seconds: u64) -> Self {
        Self { longest: Duration::from_secs(stall_threshold_seconds.max(1)) }
    }

    /// How long to wait for the next look when nothing has happened for this long.
    pub(super) fn next(self, quiet: Duration) -> Duration {
        let usual = match quiet.as_secs() {
            0..10 => Duration::from_secs(1),
            10..60 => Duration::from_secs(2),
            60..300 => Duration::from_secs(5),
            _ => Duration::from_secs(10),
        };
        usual.min(self.longest)
    }

    /// Whether the panes are to be looked at: something was drawn since the last time, or that was long ago. All in
    /// seconds of the wall clock.
    pub(super) fn is_due(self, drawn: i64, looked: i64, now: i64) -> bool {
        let longest = i64::try_from(self.longest.as_secs()).unwrap_or(i64::MAX);
        // A clock that was set back must not keep us from looking.
        drawn >= looked || now.saturating_sub(looked) >= longest || now < looked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_pane_is_looked_at_after_the_configured_time() {
        let (usual, eager) = (Pace::new(30), Pace::new(5));
        assert!(usual.is_due(100, 100, 100), "something was drawn");
        assert!(!usual.is_due(99, 100, 129) && usual.is_due(99, 100, 130));
        assert!(!eager.is_due(99, 100, 104) && eager.is_due(99, 100, 105));
        assert!(usual.is_due(99, 100, 50), "the clock was set back");
    }

    #[test]
    fn the_longer_nothing_happens_the_rarer_the_looks_but_never_rarer_than_configured() {
        let waits = |pace: Pace| {
            [0, 10, 60, 300, 99_999].map(|quiet| pace.next(Duration::from_secs(quiet)).as_secs())
        };
        assert_eq!(waits(Pace::new(30)), [1, 2, 5, 10, 10]);
        assert_eq!(waits(Pace::new(5)), [1, 2, 5, 5, 5]);
    }
}
