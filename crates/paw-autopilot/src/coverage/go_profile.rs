//! Go profiles: blocks of statements, without branches, functions or lines.

use std::collections::BTreeMap;

use super::{Coverage, CoverageError, CoverageRatio, PathBase};

/// A block as the profile names it: file, first line and column, last line and column.
type Block<'a> = (&'a str, &'a str);

pub(super) fn read(text: &str, base: PathBase<'_>) -> Result<Coverage, CoverageError> {
    // A block may be listed once per package.
    let mut blocks: BTreeMap<Block<'_>, (u64, u64)> = BTreeMap::new();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty() && !line.starts_with("mode:")) {
        let (block, statements, count) = block(line)
            .ok_or_else(|| CoverageError::Broken { format: "go", problem: format!("no block: {line}") })?;
        let known = blocks.entry(block).or_insert((statements, 0));
        known.1 = known.1.saturating_add(count);
    }
    let mut coverage = Coverage::default();
    let (mut covered, mut total) = (0_u64, 0_u64);
    for ((file, range), (statements, count)) in blocks {
        total = total.saturating_add(statements);
        covered = covered.saturating_add(if count > 0 { statements } else { 0 });
        let Some((from, to)) = line_range(range) else { continue };
        let lines = coverage.files.entry(base.relative(file)).or_default();
        for line in from..=to {
            let hits = lines.entry(line).or_insert(0);
            *hits = (*hits).max(count);
        }
    }
    coverage.statements = CoverageRatio::of(covered, total);
    Ok(coverage)
}

/// `m/a.go:3.10,5.2 1 4`
fn block(line: &str) -> Option<(Block<'_>, u64, u64)> {
    let mut parts = line.trim().rsplitn(3, ' ');
    let (count, statements) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((parts.next()?.rsplit_once(':')?, statements, count))
}

/// Lines of a block; rejects ranges no source file could have.
fn line_range(range: &str) -> Option<(u32, u32)> {
    let (from, to) = range.split_once(',')?;
    let line = |place: &str| place.split('.').next()?.parse::<u32>().ok();
    let (from, to) = (line(from)?, line(to)?);
    (from <= to && to - from < 100_000).then_some((from, to))
}
