//! Parses a budget: `30m`, `$5`, `2h,$3.50`.

use std::time::Duration;

use paw_autopilot::engine::Budget;

pub(super) fn parse(text: &str) -> Result<Budget, String> {
    let mut budget = Budget::default();
    for part in text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(sum) = part.strip_prefix('$').or_else(|| part.strip_suffix('$')) {
            budget.cost = Some(millionths(sum).ok_or_else(|| unreadable(part))?);
        } else {
            budget.time = Some(time(part).ok_or_else(|| unreadable(part))?);
        }
    }
    if budget == Budget::default() { Err(unreadable(text)) } else { Ok(budget) }
}

/// Formats the budget as a flag value.
pub(super) fn words(budget: &Budget) -> String {
    let time = budget.time.map(|time| format!("{}s", time.as_secs()));
    let cost = budget.cost.map(|sum| format!("${}.{:06}", sum / 1_000_000, sum % 1_000_000));
    time.into_iter().chain(cost).collect::<Vec<_>>().join(",")
}

fn unreadable(part: &str) -> String {
    format!("'{part}' is neither a time (90s, 30m, 2h) nor a cost ($5)")
}

fn time(part: &str) -> Option<Duration> {
    let split = part.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = part.split_at(split);
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

fn millionths(sum: &str) -> Option<u64> {
    let (whole, part) = sum.split_once('.').unwrap_or((sum, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if part.len() > 6 || !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(part).filter(|sum| *sum > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_parses_times_and_costs_only() {
        let of = |text: &str| parse(text).map(|budget| (budget.time.map(|time| time.as_secs()), budget.cost));
        assert_eq!(of("30m"), Ok((Some(1800), None)));
        assert_eq!(of("$5"), Ok((None, Some(5_000_000))));
        assert_eq!(of("2h,$3.50"), Ok((Some(7200), Some(3_500_000))));
        assert_eq!(of("90s $.25"), Ok((Some(90), Some(250_000))));
        for text in ["30m", "$5", "2h,$3.50", "90s $.25"] {
            assert_eq!(parse(&words(&parse(text).unwrap())), parse(text));
        }
        for wrong in ["", "5", "0m", "$", "$-1", "m", "99999999999999999999h", "$1.1234567", "1d", "ü"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
