//! Coverage of changed lines.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::{Coverage, CoverageRatio};
use crate::runners::SourceLocation;

/// Changed lines by file.
pub type LineRanges = BTreeMap<PathBuf, Vec<RangeInclusive<u32>>>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedLines {
    /// Changed lines that contain code; `None` if there are none or the report has no lines.
    pub ratio: Option<CoverageRatio>,
    pub missed: Vec<SourceLocation>,
    /// Changed files that the report does not list.
    pub unknown: Vec<PathBuf>,
}

pub fn changed_lines(coverage: &Coverage, changes: &LineRanges) -> ChangedLines {
    let mut answer = ChangedLines::default();
    let (mut covered, mut total) = (0, 0);
    for (file, ranges) in changes {
        let Some(lines) = coverage.files.get(file) else {
            answer.unknown.push(file.clone());
            continue;
        };
        let of_change = |line: u32| ranges.iter().any(|range| range.contains(&line));
        for (line, hits) in lines.iter().filter(|(line, _)| of_change(**line)) {
            total += 1;
            if *hits > 0 {
                covered += 1;
            } else {
                answer.missed.push(SourceLocation::new(file, Some(*line)));
            }
        }
    }
    answer.ratio = CoverageRatio::of(covered, total);
    answer
}
