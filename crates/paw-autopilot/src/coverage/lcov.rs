//! lcov's records.

use std::path::PathBuf;

use super::{Coverage, CoverageRatio, LineHits, PathBase, count_lines};

pub(super) fn read(text: &str, base: PathBase<'_>) -> Coverage {
    let mut coverage = Coverage::default();
    let (mut functions, mut branches) = ((0, 0), (0, 0));
    // The current file and its lines. Records of test files are skipped.
    let mut file: Option<(PathBuf, LineHits)> = None;
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once(':') else {
            if line == "end_of_record"
                && let Some((name, lines)) = file.take()
            {
                merge(coverage.files.entry(name).or_default(), lines);
            }
            continue;
        };
        let number = || value.parse::<u64>().unwrap_or(0);
        match key {
            "SF" => file = base.production(value).map(|path| (path, LineHits::new())),
            _ if file.is_none() => {}
            "DA" => {
                let mut parts = value.split(',').map(|part| part.trim().parse::<i64>().unwrap_or(0));
                let (number, hits) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
                if let (Some((_, lines)), Ok(number)) = (&mut file, u32::try_from(number)) {
                    let all = lines.entry(number).or_default();
                    *all = add(*all, u64::try_from(hits).unwrap_or(0));
                }
            }
            "FNF" => functions.1 = add(functions.1, number()),
            "FNH" => functions.0 = add(functions.0, number()),
            "BRF" => branches.1 = add(branches.1, number()),
            "BRH" => branches.0 = add(branches.0, number()),
            _ => {}
        }
    }
    if let Some((name, lines)) = file {
        merge(coverage.files.entry(name).or_default(), lines);
    }
    coverage.lines = count_lines(&coverage.files);
    coverage.functions = CoverageRatio::of(functions.0, functions.1);
    coverage.branches = CoverageRatio::of(branches.0, branches.1);
    coverage
}

/// A file may be listed once per test.
fn merge(into: &mut LineHits, lines: LineHits) {
    for (line, hits) in lines {
        let all = into.entry(line).or_default();
        *all = add(*all, hits);
    }
}

fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b)
}
