//! Parses the time at which a limit resets from a CLI's text: `3pm (Europe/Berlin)`, `3:05 PM`, `15:00`, `in 2h 5m`, `in 3 hours`,
//! `2026-11-15T15:00:00Z`.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// A reset further away than this was misread.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 31);

/// The time that `text`, read at `now`, means; `None` if it cannot be parsed.
pub fn parse_reset_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    if let Ok(at) = text.trim().parse::<Timestamp>() {
        return (now.duration_until(at) <= LONGEST).then_some(at);
    }
    let text = text.trim().trim_end_matches('.').to_lowercase();
    if let Some(span) = text.strip_prefix("in ") {
        let at = now.checked_add(duration(span)?).ok()?;
        return (now.duration_until(at) <= LONGEST).then_some(at);
    }
    let (clock, named) = match text.split_once('(') {
        Some((clock, name)) => (clock.trim(), Some(name.trim_end_matches(')').trim())),
        None => (text.as_str(), None),
    };
    let zone = match named {
        Some(name) => TimeZone::get(name).ok()?,
        None => zone.clone(),
    };
    let time = time(clock)?;
    let today = now.to_zoned(zone.clone());
    let at = today.date().to_datetime(time).to_zoned(zone).ok()?;
    let at = if at.timestamp() < now { at.checked_add(1.day()).ok()? } else { at };
    Some(at.timestamp())
}

/// Whether `text` is exact to the second and independent of the wall clock.
pub(super) fn is_exact(text: &str) -> bool {
    let text = text.trim();
    text.to_lowercase().starts_with("in ") || text.parse::<Timestamp>().is_ok()
}

/// `3pm`, `3:05 pm`, `15:00`
fn time(text: &str) -> Option<Time> {
    let text = text.trim_start_matches("at ").replace(' ', "");
    let (digits, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        _ => (text.as_str(), None),
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour.parse::<i8>().ok()?, minute.parse::<i8>().ok()?),
        None => (digits.parse::<i8>().ok().filter(|_| half.is_some())?, 0),
    };
    let hour = match half {
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

/// `2h 5m`, `3 hours and 12 minutes`
fn duration(text: &str) -> Option<SignedDuration> {
    let (mut total, mut found) = (SignedDuration::ZERO, false);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount: i32 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "d" | "day" | "days" => 86_400,
            "h" | "hour" | "hours" | "hr" | "hrs" => 3600,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            _ => return None,
        };
        total = total.checked_add(SignedDuration::from_secs(i64::from(amount) * unit))?;
        found = true;
        rest = rest[end..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    found.then_some(total)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<String> {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        parse_reset_time(text, now, &TimeZone::UTC).map(|at| at.to_string())
    }

    #[test]
    fn a_reset_time_is_the_next_occurrence() {
        for (text, expected) in [
            ("3pm", "2026-11-15T15:00:00Z"),
            ("3:05 PM.", "2026-11-15T15:05:00Z"),
            ("11am", "2026-11-16T11:00:00Z"),
            ("12am", "2026-11-16T00:00:00Z"),
            ("15:30", "2026-11-15T15:30:00Z"),
            ("at 15:30", "2026-11-15T15:30:00Z"),
            ("in 2h 5m", "2026-11-15T14:05:00Z"),
            ("2026-11-15T14:05:07Z", "2026-11-15T14:05:07Z"),
            ("in 1 day, 3 hours and 12 minutes", "2026-11-16T15:12:00Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        if TimeZone::get("Europe/Berlin").is_ok() {
            assert_eq!(read("3pm (Europe/Berlin)").as_deref(), Some("2026-11-15T14:00:00Z"));
        }
    }

    #[test]
    fn a_text_without_a_time_has_no_reset_time() {
        for text in
            ["", "soon", "25:00", "13pm", "3", "in", "in a while", "in 99999 days", "3pm (Nowhere/Else)"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parse_reset_time_never_panics(text in "(in )?[0-9apmhd:( )/A-Z]{0,20}") {
            let _ = read(&text);
        }
    }
}
