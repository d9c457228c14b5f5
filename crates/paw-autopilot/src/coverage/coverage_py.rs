//! coverage.py JSON. Its lines are statements; its percentage mixes lines and branches.

use serde_json::Value;

use super::{Coverage, CoverageRatio, LineHits, PathBase, number};

pub(super) fn read(report: &Value, base: PathBase<'_>) -> Coverage {
    let totals = &report["totals"];
    let lines = CoverageRatio::of(number(&totals["covered_lines"]), number(&totals["num_statements"]));
    let files = report["files"].as_object().into_iter().flatten().map(|(name, file)| {
        let listed = |key: &str, hits: u64| {
            let lines = file[key].as_array().into_iter().flatten();
            lines.filter_map(|line| u32::try_from(line.as_u64()?).ok()).map(move |line| (line, hits))
        };
        let lines: LineHits = listed("missing_lines", 0).chain(listed("executed_lines", 1)).collect();
        (base.relative(name), lines)
    });
    Coverage {
        lines,
        branches: CoverageRatio::of(number(&totals["covered_branches"]), number(&totals["num_branches"])),
        functions: None,
        statements: lines,
        files: files.collect(),
    }
}
