//! Test runners: detection, command lines and reports.
//!
//! - [`detect`]: finds a project's runner; [`package`]: test settings in `package.json`
//! - one file per runner: its command lines and reports; [`coverage_tools`]: what measures coverage;
//!   [`conventions`]: language and names of test files
//! - [`failure_text`]: what a failure message says
//! - [`report`]: the common report format; [`verdict`]: passed, failures, build failure, none ran, timed out, crashed
//! - [`run`]: runs a runner, without secrets and with limits; [`mod@flaky`]: evaluates a rerun

mod bun;
mod cargo;
mod command;
pub mod conventions;
pub mod coverage_tools;
pub mod detect;
pub mod failure_text;
pub mod flaky;
mod generic;
mod go;
mod jest;
mod junit;
mod location;
mod mocha;
mod nextest;
mod no_report;
mod node_test;
pub mod package;
mod project_facts;
mod pytest;
pub mod report;
pub mod run;
pub mod script;
mod unittest;
pub mod verdict;

use std::fmt::Debug;
use std::path::{Path, PathBuf};

pub use bun::Bun;
pub use cargo::Cargo;
pub use command::{RunnerCommand, RunnerOutput};
pub use conventions::{RunnerConventions, TestConventions};
pub use coverage_tools::{CoverageRun, CoverageTools};
pub use generic::Generic;
pub use go::Go;
pub use jest::{Jest, JestKind};
pub use location::SourceLocation;
pub use mocha::Mocha;
pub use nextest::Nextest;
pub use node_test::NodeTest;
pub use pytest::Pytest;
pub use report::{BuildProblem, TestCase, TestOutcome, TestReport};
pub use run::{TestLimits, TestRun, TestRunError};
pub use unittest::Unittest;
pub use verdict::TestVerdict;

/// Which tests to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestSelection {
    All,
    /// The tests of these files, relative to the project.
    Files(Vec<PathBuf>),
    /// These tests, by the names in a report. A runner that cannot select tests runs more.
    Tests(Vec<TestCase>),
}

/// A test runner: its commands and reports. Does not run anything itself.
pub trait TestRunner: Debug + Send + Sync {
    /// The display name: `cargo test`, `npm test`.
    fn name(&self) -> String;

    /// Language, framework and usual names of test files, if the runner implies them.
    fn conventions(&self) -> Option<RunnerConventions> {
        None
    }

    /// A command that only builds, if the runner has one. A failed build ends the run.
    fn build(&self) -> Option<RunnerCommand> {
        None
    }

    fn parse_build(&self, _said: &RunnerOutput) -> Vec<BuildProblem> {
        Vec::new()
    }

    /// The shell command, for a generic runner.
    fn line(&self) -> Option<&str> {
        None
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand;

    fn read(&self, run_output: &RunnerOutput) -> TestReport;

    /// A run of the whole suite that measures coverage, or why there is none.
    fn coverage(&self, _tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        Err(format!("git paw cannot measure the coverage of '{}'", self.name()))
    }

    /// The runner's exit code for "no tests found".
    fn none_ran_code(&self) -> Option<i32> {
        None
    }
}

/// The files of a selection without duplicates; empty for all tests. The `./` prefix keeps a name from being read as
/// an option or a suffix match.
fn files_of(which: &TestSelection) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = match which {
        TestSelection::All => Vec::new(),
        TestSelection::Files(files) => files.clone(),
        TestSelection::Tests(cases) => cases.iter().filter_map(|case| case.file.clone()).collect(),
    };
    files.sort();
    files.dedup();
    files.iter().map(|file| Path::new(".").join(file)).collect()
}
