//! The project's own commands: formatter, linter, coverage.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use paw_core::config::AutopilotConfig;
use paw_host::process::Command;
use paw_worktree::RunSandbox;

use super::{FinalGates, WorkError};
use crate::runners::TestRunError;
use crate::time_limit::follow_with_limit;

/// Commands that the user configured or approved.
#[derive(Debug, Clone, Default)]
pub struct FinalCommands {
    pub format: Option<String>,
    pub lint: Option<String>,
    pub coverage: Option<String>,
    /// The coverage report; `None` to search the usual paths.
    pub coverage_report: Option<PathBuf>,
    /// Fail without a coverage report.
    pub coverage_required: bool,
    pub gates: FinalGates,
}

impl From<AutopilotConfig> for FinalCommands {
    fn from(config: AutopilotConfig) -> Self {
        Self {
            format: config.format_command,
            lint: config.lint_command,
            coverage: config.coverage_command,
            coverage_report: config.coverage_report,
            coverage_required: config.coverage_required,
            gates: FinalGates::default(),
        }
    }
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

/// Output lines shown when a command fails.
const LAST_WORDS: usize = 5;

/// Runs a shell command in this sandbox, else in that of `root`, without secrets in its environment. Returns the last output lines if it fails.
pub(super) fn run_line(
    line: &str,
    root: &Path,
    sandbox: Option<&RunSandbox>,
    mark: &str,
    limit: Duration,
) -> Result<Result<(), String>, WorkError> {
    let found = match sandbox {
        Some(given) => given.clone(),
        None => RunSandbox::find(root).map_err(TestRunError::from)?,
    };
    let sandbox = &found;
    let command = sandbox.apply(Command::new("sh").args(["-c", line]).dir(root).harmless_environment());
    let mut denied = sandbox.denied_paths();
    let mut last: VecDeque<String> = VecDeque::new();
    let exit = follow_with_limit(command.start(mark)?, limit, |_, words| {
        let words = String::from_utf8_lossy(words).trim_end().to_owned();
        if let Some(denied) = &mut denied {
            denied.read(&words);
        }
        if !words.trim().is_empty() {
            last.push_back(words);
        }
        if last.len() > LAST_WORDS {
            last.pop_front();
        }
        ControlFlow::Continue(())
    })?;
    if exit.success() {
        return Ok(Ok(()));
    }
    last.extend(denied.and_then(|denied| denied.note()));
    let last = last.into_iter().collect::<Vec<_>>().join("\n");
    Ok(Err(format!("'{line}' {exit}{}{last}", if last.is_empty() { "" } else { ":\n" })))
}

/// Loads the reports of the coverage command: the configured file, else the usual ones. Only files newer than `since`
/// count.
pub(super) fn load_reports(named: Option<&Path>, root: &Path, since: Timestamp) -> Vec<String> {
    let fresh = |path: &PathBuf| {
        let changed = std::fs::metadata(path).and_then(|metadata| metadata.modified());
        changed.is_ok_and(|at| Timestamp::try_from(at).is_ok_and(|at| at.as_second() >= since.as_second()))
    };
    let paths: Vec<PathBuf> = match named {
        Some(named) => vec![root.join(named)],
        None => PLACES.iter().map(|place| root.join(place)).collect(),
    };
    paths.into_iter().filter(fresh).filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}
