//! istanbul's summary: all four metrics, no lines.

use serde_json::Value;

use super::{Coverage, CoverageRatio, number};

pub(super) fn read(report: &Value) -> Coverage {
    // The percentage of nothing is a word there; the counts never are.
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
