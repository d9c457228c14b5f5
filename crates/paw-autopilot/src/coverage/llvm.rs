//! `llvm-cov export` JSON. Regions count as statements.

use serde_json::Value;

use super::{Coverage, CoverageRatio, LineHits, PathBase, number};

pub(super) fn read(report: &Value, base: PathBase<'_>) -> Coverage {
    let mut coverage = Coverage::default();
    let data = &report["data"][0];
    // It reports 0 % when there is nothing to cover.
    let metric = |name: &str| {
        let metric = &data["totals"][name];
        CoverageRatio::of(number(&metric["covered"]), number(&metric["count"]))
    };
    coverage.lines = metric("lines");
    coverage.functions = metric("functions");
    coverage.branches = metric("branches");
    coverage.statements = metric("regions");
    for file in data["files"].as_array().into_iter().flatten() {
        let segments: Vec<Segment> =
            file["segments"].as_array().into_iter().flatten().filter_map(segment).collect();
        if let Some(name) = file["filename"].as_str()
            && !segments.is_empty()
        {
            coverage.files.insert(base.relative(name), lines(&segments));
        }
    }
    coverage
}

/// The start of a code region and its count.
struct Segment {
    line: u32,
    count: u64,
    counted: bool,
    /// A region starts here.
    entry: bool,
}

fn segment(value: &Value) -> Option<Segment> {
    Some(Segment {
        line: u32::try_from(value[0].as_u64()?).ok()?,
        count: value[2].as_u64()?,
        counted: value[3].as_bool()?,
        entry: value[4].as_bool()?,
    })
}

/// A line's count is the highest of the regions that touch it.
fn lines(segments: &[Segment]) -> LineHits {
    let mut lines = LineHits::new();
    for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.counted) {
        let end = segments.get(at + 1).map_or(segment.line, |next| next.line);
        let first = if segment.entry { segment.line } else { segment.line.saturating_add(1) };
        // Skip ranges no source file could have.
        if end.saturating_sub(first) > 100_000 {
            continue;
        }
        for line in first..=end {
            let hits = lines.entry(line).or_insert(0);
            *hits = (*hits).max(segment.count);
        }
    }
    lines
}
