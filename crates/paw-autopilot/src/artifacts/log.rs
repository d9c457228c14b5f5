//! `log.jsonl`: one line per event, with time and phase.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::manifest::seconds;
use crate::runners::{TestOutcome, TestReport};

/// One line without its newline. Fields keep their order.
pub fn line(at: Timestamp, phase: &str, fields: Value) -> String {
    let mut record = Map::new();
    record.insert("ts".into(), json!(seconds::shown(&at)));
    record.insert("phase".into(), json!(phase));
    if let Value::Object(fields) = fields {
        record.extend(fields.into_iter().filter(|(key, _)| key != "ts" && key != "phase"));
    }
    Value::Object(record).to_string()
}

/// `{"failed":3,"passed":0}`
pub fn counts(report: &TestReport) -> Value {
    json!({"failed": report.count(TestOutcome::Failed), "passed": report.count(TestOutcome::Passed)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_line_starts_with_time_and_phase() {
        let at = "2025-01-15T14:21:00.7Z".parse().unwrap();
        let fields = json!({"subtask": "42.1", "status": "ok", "ts": "never", "error": "two\nlines"});
        assert_eq!(
            line(at, "red", fields),
            r#"{"ts":"2025-01-15T14:21:00Z","phase":"red","subtask":"42.1","status":"ok","error":"two\nlines"}"#
        );
        assert_eq!(line(at, "pause", Value::Null), r#"{"ts":"2025-01-15T14:21:00Z","phase":"pause"}"#);
    }
}
