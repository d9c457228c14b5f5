//! Commands of the project's own that belong to the end of a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use paw_host::process::Command;

use super::WorkError;
use crate::coverage::{Base, Coverage, parse};

/// What the user has configured, or approved, to be run at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinalCommands {
    pub format: Option<String>,
    pub lint: Option<String>,
    pub coverage: Option<String>,
    /// Where the coverage command leaves its report; nothing to look in the usual places.
    pub coverage_report: Option<PathBuf>,
}

const PLACES: [&str; 11] = [
    "coverage/coverage-summary.json",
    "coverage/lcov.info",
    "coverage/cobertura-coverage.xml",
    "coverage.json",
    "coverage.xml",
    "lcov.info",
    "coverage.lcov",
    "cover.out",
    "coverage.out",
    "target/llvm-cov/lcov.info",
    "target/coverage.json",
];

/// Runs a line in a shell, without anybody's secrets. What it said comes back when it fails.
pub(super) fn run_line(line: &str, root: &Path, limit: Duration) -> Result<Result<(), String>, WorkError> {
    let command = Command::new("sh").args(["-c", line]).dir(root).harmless_environment().time_limit(limit);
    let output = command.capture()?;
    if output.exit.success() {
        return Ok(Ok(()));
    }
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(5)..].join("\n");
    Ok(Err(format!("'{line}' {}{}{last}", output.exit, if last.is_empty() { "" } else { ":\n" })))
}

/// The report a coverage command has left: the one that was named, else the first usual one that is new.
pub(super) fn load_coverage(
    named: Option<&Path>,
    root: &Path,
    since: Timestamp,
) -> Result<Option<Coverage>, WorkError> {
    let fresh = |path: &PathBuf| {
        let changed = std::fs::metadata(path).and_then(|metadata| metadata.modified());
        changed.is_ok_and(|at| Timestamp::try_from(at).is_ok_and(|at| at.as_second() >= since.as_second()))
    };
    let path = match named {
        Some(named) => Some(root.join(named)),
        None => PLACES.iter().map(|place| root.join(place)).find(fresh),
    };
    let Some(text) = path.and_then(|path| std::fs::read_to_string(path).ok()) else { return Ok(None) };
    let module = std::fs::read_to_string(root.join("go.mod")).ok();
    let module =
        module.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("module ")));
    Ok(Some(parse(&text, Base { root, go_module: module.map(str::trim) })?))
}
