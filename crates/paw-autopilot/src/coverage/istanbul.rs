//! istanbul summaries: all four metrics, no lines.

use serde_json::Value;

use super::{Coverage, CoverageRatio, number};

pub(super) fn read(report: &Value) -> Coverage {
    // The percentage is a string when there is nothing to cover; counts are always numbers.
    let metric = |name: &str| {
        let metric = &report["total"][name];
        CoverageRatio::of(number(&metric["covered"]), number(&metric["total"]))
    };
    Coverage {
        lines: metric("lines"),
        branches: metric("branches"),
        functions: metric("functions"),
        statements: metric("statements"),
        ..Coverage::default()
    }
}
