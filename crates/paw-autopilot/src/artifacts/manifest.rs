//! `manifest.json`: a run at a glance.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RunId;
use crate::coverage::{Coverage, CoverageRatio};
use crate::tasks::{ItemId, TagName, TaskId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Running,
    Paused,
    Completed,
    Aborted,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunManifest {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub tag: TagName,
    pub branch: Option<String>,
    #[serde(with = "seconds")]
    pub start_time: Timestamp,
    #[serde(with = "seconds::optional")]
    pub end_time: Option<Timestamp>,
    pub status: RunStatus,
    pub subtasks_completed: Vec<ItemId>,
    pub subtasks_failed: Vec<ItemId>,
    pub total_commits: usize,
    pub pr_url: Option<String>,
    pub final_coverage: Option<CoveragePercents>,
    /// What `--force` allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<String>,
}

/// Coverage in percent with one decimal. Unmeasured metrics are omitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CoveragePercents {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statements: Option<f64>,
}

impl From<&Coverage> for CoveragePercents {
    fn from(coverage: &Coverage) -> Self {
        let rounded =
            |ratio: Option<CoverageRatio>| ratio.map(|ratio| (ratio.percent() * 10.0).round() / 10.0);
        Self {
            lines: rounded(coverage.lines),
            branches: rounded(coverage.branches),
            functions: rounded(coverage.functions),
            statements: rounded(coverage.statements),
        }
    }
}

/// Timestamps in whole seconds: `2025-01-15T14:20:33Z`.
pub(super) mod seconds {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(in crate::artifacts) fn shown(time: &Timestamp) -> String {
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&shown(time))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        Timestamp::deserialize(deserializer)
    }

    pub(super) mod optional {
        use jiff::Timestamp;
        use serde::{Deserialize as _, Deserializer, Serializer};

        #[expect(clippy::ref_option, reason = "the shape that serde calls")]
        pub(in crate::artifacts) fn serialize<S: Serializer>(
            time: &Option<Timestamp>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match time {
                Some(time) => super::serialize(time, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub(in crate::artifacts) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            Option::<Timestamp>::deserialize(deserializer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_has_the_documented_format() {
        let manifest = RunManifest {
            run_id: RunId::parse("2025-01-15-142033").unwrap(),
            task_id: TaskId::new("42").unwrap(),
            tag: TagName::new("analytics").unwrap(),
            branch: Some("analytics/task-42-user-metrics".into()),
            start_time: "2025-01-15T14:20:33.5Z".parse().unwrap(),
            end_time: Some("2025-01-15T14:45:12Z".parse().unwrap()),
            status: RunStatus::Completed,
            subtasks_completed: ["42.1", "42.2"].map(|id| id.parse().unwrap()).into(),
            subtasks_failed: Vec::new(),
            total_commits: 2,
            pr_url: Some("https://github.com/org/repo/pull/123".into()),
            final_coverage: Some(CoveragePercents::from(&Coverage {
                lines: CoverageRatio::of(853, 1000),
                branches: CoverageRatio::of(2, 3),
                ..Coverage::default()
            })),
            relaxed: Vec::new(),
        };
        let text = serde_json::to_string_pretty(&manifest).unwrap();
        insta::assert_snapshot!(text, @r#"
        {
          "runId": "2025-01-15-142033",
          "taskId": "42",
          "tag": "analytics",
          "branch": "analytics/task-42-user-metrics",
          "startTime": "2025-01-15T14:20:33Z",
          "endTime": "2025-01-15T14:45:12Z",
          "status": "completed",
          "subtasksCompleted": [
            "42.1",
            "42.2"
          ],
          "subtasksFailed": [],
          "totalCommits": 2,
          "prUrl": "https://github.com/org/repo/pull/123",
          "finalCoverage": {
            "lines": 85.3,
            "branches": 66.7
          }
        }
        "#);
        let read: RunManifest = serde_json::from_str(&text).unwrap();
        assert_eq!(read.run_id, manifest.run_id);
    }
}
