//! Coverage reports, thresholds and changed lines.
//!
//! - [`parse`]: reads six formats, detected by content; one file per format
//! - [`gate`]: thresholds: met, missed or not measured
//! - [`mod@changed_lines`]: coverage of changed lines; [`mod@added_lines`]: which lines changed

pub mod added_lines;
pub mod changed_lines;
mod cobertura;
mod coverage_py;
pub mod gate;
mod go_profile;
mod istanbul;
mod lcov;
mod llvm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::Value;

/// Covered of total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoverageRatio {
    pub covered: u64,
    pub total: u64,
}

impl CoverageRatio {
    /// `None` if there is nothing to cover.
    pub fn of(covered: u64, total: u64) -> Option<Self> {
        (total > 0).then(|| Self { covered: covered.min(total), total })
    }

    #[expect(clippy::cast_precision_loss, reason = "line counts are far below the limit")]
    pub fn percent(self) -> f64 {
        self.covered as f64 * 100.0 / self.total as f64
    }
}

/// Hits per line.
pub type LineHits = BTreeMap<u32, u64>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    pub lines: Option<CoverageRatio>,
    pub branches: Option<CoverageRatio>,
    pub functions: Option<CoverageRatio>,
    pub statements: Option<CoverageRatio>,
    /// Hits per file, relative to the project if inside it.
    pub files: BTreeMap<PathBuf, LineHits>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoverageError {
    #[error(
        "unknown coverage report format (supported: lcov, cobertura, istanbul summary, llvm-cov, coverage.py, go)"
    )]
    Unknown,
    #[error("the {format} report cannot be read: {problem}")]
    Broken { format: &'static str, problem: String },
}

impl Diagnostic for CoverageError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

impl Coverage {
    /// Takes what is missing from another report of the same run.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            lines: self.lines.or(other.lines),
            branches: self.branches.or(other.branches),
            functions: self.functions.or(other.functions),
            statements: self.statements.or(other.statements),
            files: if self.files.is_empty() { other.files } else { self.files },
        }
    }
}

/// What paths in a report are relative to, and which of them count.
#[derive(Clone, Copy)]
pub struct PathBase<'a> {
    pub root: &'a Path,
    /// The module of `go.mod`, which replaces the root in Go reports.
    pub go_module: Option<&'a str>,
    /// Whether a file exists, by its path relative to the root.
    pub is_file: &'a dyn Fn(&Path) -> bool,
    /// Whether a file is test code, which would raise the numbers.
    pub is_test: &'a dyn Fn(&Path) -> bool,
}

impl std::fmt::Debug for PathBase<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PathBase").field("root", &self.root).finish_non_exhaustive()
    }
}

impl PathBase<'_> {
    /// The path of production code; `None` for tests.
    fn production(&self, path: &str) -> Option<PathBuf> {
        Some(self.relative(path)).filter(|path| !(self.is_test)(path))
    }

    fn relative(&self, path: &str) -> PathBuf {
        let path =
            self.go_module.and_then(|module| path.strip_prefix(module)?.strip_prefix('/')).unwrap_or(path);
        let path = Path::new(path);
        let path = path.strip_prefix(self.root).unwrap_or(path);
        path.strip_prefix(".").unwrap_or(path).to_path_buf()
    }
}

/// Reads a report in any supported format.
pub fn parse(text: &str, base: PathBase<'_>) -> Result<Coverage, CoverageError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') {
        return cobertura::read(start, base);
    }
    if start.starts_with("mode:") {
        return go_profile::read(start, base);
    }
    if start.starts_with('{') {
        let report: Value = serde_json::from_str(start)
            .map_err(|error| CoverageError::Broken { format: "JSON", problem: error.to_string() })?;
        return if report["type"] == "llvm.coverage.json.export" {
            Ok(llvm::read(&report, base))
        } else if report["totals"].is_object() {
            Ok(coverage_py::read(&report, base))
        } else if report["total"].is_object() {
            Ok(istanbul::read(&report))
        } else {
            Err(CoverageError::Unknown)
        };
    }
    let record = |line: &str| line.starts_with("SF:") || line.starts_with("TN:");
    if start.lines().any(record) { Ok(lcov::read(start, base)) } else { Err(CoverageError::Unknown) }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Covered lines of all files.
fn count_lines(files: &BTreeMap<PathBuf, LineHits>) -> Option<CoverageRatio> {
    let lines = files.values().flat_map(BTreeMap::values);
    let (covered, total) =
        lines.fold((0, 0), |(covered, total), hits| (covered + u64::from(*hits > 0), total + 1));
    CoverageRatio::of(covered, total)
}

#[cfg(test)]
mod tests;
