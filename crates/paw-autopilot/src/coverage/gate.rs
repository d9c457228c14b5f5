//! Thresholds: met, missed, or not measured.

use serde::Serialize;

use super::{Coverage, Ratio};
use crate::tasks::settings::Thresholds;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Met,
    Missed,
    /// The report does not know this metric: neither passed nor failed.
    NotMeasured,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Judged {
    pub metric: &'static str,
    pub wanted: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    pub standing: Standing,
}

/// One answer per metric that somebody wants.
pub fn judge(coverage: &Coverage, thresholds: &Thresholds) -> Vec<Judged> {
    let metrics = [
        ("lines", coverage.lines, thresholds.lines),
        ("branches", coverage.branches, thresholds.branches),
        ("functions", coverage.functions, thresholds.functions),
        ("statements", coverage.statements, thresholds.statements),
    ];
    let judged = metrics.into_iter().filter_map(|(metric, ratio, wanted)| {
        let percent = ratio.map(Ratio::percent);
        let wanted = wanted?;
        let standing = match percent {
            None => Standing::NotMeasured,
            Some(percent) if percent >= wanted => Standing::Met,
            Some(_) => Standing::Missed,
        };
        Some(Judged { metric, wanted, percent, standing })
    });
    judged.collect()
}
