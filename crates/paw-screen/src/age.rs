//! Formats how long ago something was in few columns, and computes when that text changes.

use jiff::{SignedDuration, Timestamp};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `12s`, `5m`, `1h02m` or `3d`. A time in the future, from another clock, is `0s`.
pub fn text(since: Timestamp, now: Timestamp) -> String {
    let seconds = seconds(since, now);
    match seconds {
        0..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h{:02}m", seconds / HOUR, seconds % HOUR / MINUTE),
        _ => format!("{}d", seconds / DAY),
    }
}

/// The first time after `now` at which [`text`] changes.
pub fn next_change(since: Timestamp, now: Timestamp) -> Timestamp {
    let seconds = seconds(since, now);
    let step = match seconds {
        0..MINUTE => 1,
        MINUTE..DAY => MINUTE,
        _ => DAY,
    };
    let next = (seconds / step + 1) * step;
    since.saturating_add(SignedDuration::from_secs(next)).unwrap_or(Timestamp::MAX)
}

fn seconds(since: Timestamp, now: Timestamp) -> i64 {
    now.duration_since(since).as_secs().max(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn text_uses_the_largest_fitting_unit() {
        let texts = [0, 59, 60, 3_599, 3_600, 3_720, 86_399, 86_400, 300_000].map(|age| text(at(0), at(age)));
        assert_eq!(texts, ["0s", "59s", "1m", "59m", "1h00m", "1h02m", "23h59m", "1d", "3d"]);
    }

    #[test]
    fn a_time_in_the_future_has_age_zero() {
        assert_eq!(text(at(100), at(0)), "0s");
    }

    proptest! {
        #[test]
        fn next_change_is_when_the_text_changes(age in 0_i64..200_000) {
            let (since, now) = (at(1_000), at(1_000 + age));
            let next = next_change(since, now);
            prop_assert!(next > now);
            let before = next.checked_sub(SignedDuration::from_secs(1)).unwrap();
            prop_assert_eq!(text(since, before.max(now)), text(since, now));
            prop_assert_ne!(text(since, next), text(since, now));
        }
    }
}
