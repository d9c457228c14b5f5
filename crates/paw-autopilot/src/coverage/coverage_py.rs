//! coverage.py JSON. Its lines are statements; its percentage mixes lines and branches.

use std::path::PathBuf;

use serde_json::Value;

use super::{Coverage, CoverageRatio, LineHits, PathBase, number};

pub(super) fn read(report: &Value, base: PathBase<'_>) -> Coverage {
    let files: Vec<(PathBuf, &Value)> = report["files"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, file)| Some((base.production(name)?, file)))
        .collect();
    let total = |key: &str| files.iter().map(|(_, file)| number(&file["summary"][key])).sum();
    let lines = CoverageRatio::of(total("covered_lines"), total("num_statements"));
    let branches = CoverageRatio::of(total("covered_branches"), total("num_branches"));
    let hits = |file: &Value| -> LineHits {
        let listed = |key: &str, hits: u64| {
            let lines = file[key].as_array().cloned().unwrap_or_default();
            lines.into_iter().filter_map(move |line| Some((u32::try_from(line.as_u64()?).ok()?, hits)))
        };
        listed("missing_lines", 0).chain(listed("executed_lines", 1)).collect()
    };
    let files = files.iter().map(|(path, file)| (path.clone(), hits(file))).collect();
    Coverage { lines, branches, functions: None, statements: lines, files }
}
