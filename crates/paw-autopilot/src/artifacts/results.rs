//! `test-results/`: one file per relevant test run.

use jiff::Timestamp;
use paw_host::process::Exit;
use serde::Serialize;
use serde_json::{Value, json};

use super::manifest::{CoveragePercents, seconds};
use crate::coverage::Coverage;
use crate::runners::{TestOutcome, TestRun, TestVerdict};
use crate::tasks::ItemId;

/// Which test run it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestRunKind<'a> {
    Red { subtask: &'a ItemId, attempt: u32, proven: bool },
    Green { subtask: &'a ItemId, attempt: u32, proven: bool },
    Final,
}

impl TestRunKind<'_> {
    /// The file name of a proof has no attempt number.
    pub fn file_name(self) -> String {
        match self {
            Self::Red { subtask, proven: true, .. } => format!("subtask-{subtask}-red.json"),
            Self::Red { subtask, attempt, .. } => format!("subtask-{subtask}-red-attempt{attempt}.json"),
            Self::Green { subtask, proven: true, .. } => format!("subtask-{subtask}-green.json"),
            Self::Green { subtask, attempt, .. } => format!("subtask-{subtask}-green-attempt{attempt}.json"),
            Self::Final => "final-suite.json".into(),
        }
    }

    fn phase(self) -> &'static str {
        match self {
            Self::Red { .. } => "red",
            Self::Green { .. } => "green",
            Self::Final => "final",
        }
    }

    fn subtask(self) -> Option<(String, u32)> {
        match self {
            Self::Red { subtask, attempt, .. } | Self::Green { subtask, attempt, .. } => {
                Some((subtask.to_string(), attempt))
            }
            Self::Final => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtask: Option<String>,
    pub phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    pub timestamp: String,
    pub command: String,
    pub exit_code: Option<i32>,
    pub verdict: TestVerdict,
    /// In milliseconds.
    pub duration: u64,
    pub summary: Value,
    pub failures: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<CoveragePercents>,
}

impl TestResult {
    pub fn of(occasion: TestRunKind<'_>, run: &TestRun, coverage: Option<&Coverage>, at: Timestamp) -> Self {
        let report = &run.report;
        let failures = report.failed().map(|case| {
            let message = case.message.as_deref().unwrap_or_default();
            json!({"test": case.name, "error": case.error().unwrap_or_default(), "stack": message})
        });
        let (subtask, attempt) = occasion.subtask().unzip();
        Self {
            subtask,
            phase: occasion.phase(),
            attempt,
            timestamp: seconds::shown(&at),
            command: run.command.clone(),
            exit_code: match run.exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(_) | Exit::TimedOut { .. } => None,
            },
            verdict: run.verdict,
            duration: u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX),
            summary: json!({
                "total": report.cases.len(),
                "passed": report.count(TestOutcome::Passed),
                "failed": report.count(TestOutcome::Failed),
                "skipped": report.count(TestOutcome::Skipped),
            }),
            failures: failures.collect(),
            broken: report.broken.iter().map(|broken| json!(broken)).collect(),
            flaky: run.flaky.iter().cloned().collect(),
            coverage: coverage.map(CoveragePercents::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runners::{TestCase, TestReport};

    #[test]
    fn test_result_has_the_documented_name_and_format() {
        let subtask: ItemId = "42.2".parse().unwrap();
        let occasion = TestRunKind::Green { subtask: &subtask, attempt: 3, proven: false };
        assert_eq!(occasion.file_name(), "subtask-42.2-green-attempt3.json");
        let green = TestRunKind::Green { subtask: &subtask, attempt: 2, proven: true };
        assert_eq!(green.file_name(), "subtask-42.2-green.json");
        assert_eq!(
            TestRunKind::Red { subtask: &subtask, attempt: 1, proven: true }.file_name(),
            "subtask-42.2-red.json"
        );
        assert_eq!(TestRunKind::Final.file_name(), "final-suite.json");
        let failed = TestCase::new("POST /api/metrics", TestOutcome::Failed)
            .because("Expected status 201, got 500\n at x");
        let run = TestRun {
            command: "npm test src/a.test.js".into(),
            exit: Exit::Code(1),
            duration: Duration::from_millis(2340),
            report: TestReport {
                cases: vec![failed, TestCase::new("y", TestOutcome::Passed)],
                ..TestReport::default()
            },
            verdict: TestVerdict::Failures,
            flaky: ["z".to_owned()].into(),
            output: String::new(),
        };
        let result = TestResult::of(occasion, &run, None, "2025-01-15T14:25:30Z".parse().unwrap());
        insta::assert_snapshot!(serde_json::to_string_pretty(&result).unwrap(), @r#"
        {
          "subtask": "42.2",
          "phase": "green",
          "attempt": 3,
          "timestamp": "2025-01-15T14:25:30Z",
          "command": "npm test src/a.test.js",
          "exitCode": 1,
          "verdict": "failures",
          "duration": 2340,
          "summary": {
            "total": 2,
            "passed": 1,
            "failed": 1,
            "skipped": 0
          },
          "failures": [
            {
              "test": "POST /api/metrics",
              "error": "Expected status 201, got 500",
              "stack": "Expected status 201, got 500\n at x"
            }
          ],
          "flaky": [
            "z"
          ]
        }
        "#);
    }
}
