//! Thresholds: met, missed, or not measured.

use serde::Serialize;

use super::{Coverage, CoverageRatio};
use crate::tasks::settings::CoverageThresholds;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdStatus {
    Met,
    Missed,
    /// The report does not have this metric.
    NotMeasured,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ThresholdResult {
    pub metric: &'static str,
    pub wanted: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    #[serde(rename = "standing")]
    pub status: ThresholdStatus,
}

/// One result per configured threshold.
pub fn judge(coverage: &Coverage, thresholds: &CoverageThresholds) -> Vec<ThresholdResult> {
    let metrics = [
        ("lines", coverage.lines, thresholds.lines),
        ("branches", coverage.branches, thresholds.branches),
        ("functions", coverage.functions, thresholds.functions),
        ("statements", coverage.statements, thresholds.statements),
    ];
    let judged = metrics.into_iter().filter_map(|(metric, ratio, wanted)| {
        let percent = ratio.map(CoverageRatio::percent);
        let wanted = wanted?;
        let status = match percent {
            None => ThresholdStatus::NotMeasured,
            Some(percent) if percent >= wanted => ThresholdStatus::Met,
            Some(_) => ThresholdStatus::Missed,
        };
        Some(ThresholdResult { metric, wanted, percent, status })
    });
    judged.collect()
}

/// Describes the missed thresholds.
pub fn missed(judged: &[ThresholdResult]) -> Option<String> {
    let missed = judged.iter().filter(|judged| judged.status == ThresholdStatus::Missed);
    let missed = missed.map(|judged| {
        format!("{} {:.1} % of {} %", judged.metric, judged.percent.unwrap_or_default(), judged.wanted)
    });
    let missed: Vec<String> = missed.collect();
    (!missed.is_empty()).then(|| format!("coverage is too low: {}", missed.join(", ")))
}
