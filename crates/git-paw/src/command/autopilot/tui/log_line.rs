//! Formats a line of a run's log.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_screen::text::Text;
use serde_json::{Map, Value};

/// `14:21:03 red 42.1 ok failed 3, passed 0`. `None` for an invalid line, such as a half-written one.
pub(super) fn shown(line: &str, zone: &TimeZone) -> Option<Text> {
    let Value::Object(record) = serde_json::from_str(line).ok()? else { return None };
    let text = |key: &str| record.get(key).and_then(Value::as_str);
    let time = text("ts").and_then(|ts| ts.parse::<Timestamp>().ok());
    let time = time.map(|time| time.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string());
    let mut words: Vec<String> = time.into_iter().collect();
    words.extend(["phase", "subtask", "status"].into_iter().filter_map(text).map(str::to_owned));
    words.extend(rest(&record));
    Some(Text::line(&words.join(" ")))
}

fn rest(record: &Map<String, Value>) -> impl Iterator<Item = String> {
    let handled = ["ts", "phase", "subtask", "status", "nextAction", "duration"];
    record.iter().filter(move |(key, _)| !handled.contains(&key.as_str())).filter_map(|(key, value)| {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(format!("{key} {value}")),
            Value::Object(parts) => {
                let parts: Vec<String> = parts.iter().filter_map(|(key, value)| part(key, value)).collect();
                (!parts.is_empty()).then(|| parts.join(", "))
            }
            Value::Array(_) | Value::Null => None,
        }
    })
}

fn part(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => Some(format!("{key} {value}")),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) | Value::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(raw: &str) -> Option<String> {
        shown(raw, &TimeZone::UTC).map(|text| text.to_string())
    }

    #[test]
    fn log_line_shows_time_phase_and_result() {
        let raw = r#"{"ts":"2025-01-15T14:21:03Z","phase":"red","subtask":"42.1","status":"ok","tests":{"failed":3,"passed":0},"duration":12}"#;
        assert_eq!(line(raw).as_deref(), Some("14:21:03 red 42.1 ok failed 3, passed 0"));
        let raw = r#"{"ts":"x","phase":"pause","reason":"max_attempts","error":"two\nlines \u001b[31m","nextAction":"manual_review"}"#;
        assert_eq!(line(raw).as_deref(), Some("pause max_attempts two lines"));
        assert_eq!(line(r#"{"ts":"2025-01-15T14"#), None);
        assert_eq!(line("[]"), None);
    }

    proptest! {
        #[test]
        fn log_line_never_panics_or_prints_control_characters(raw in "(\\PC|[\\x00-\\x1f]|[{}\":,\\[\\]]){0,60}") {
            if let Some(text) = shown(&raw, &TimeZone::UTC) {
                prop_assert!(!text.as_str().contains(char::is_control));
            }
        }
    }
}
