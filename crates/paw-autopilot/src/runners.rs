//! Test runners: which one a project has, how it is called, and what its reports say.
//!
//! - [`detect`]: from a project's files to a runner; [`package`]: what `package.json` says about it
//! - one file per runner: its command lines and its reports
//! - [`report`]: what all reports are turned into; [`verdict`]: pass, failures, build failure, none ran, time-out
//! - [`run`]: calling a runner, without secrets, with a time limit; [`flaky`]: what a second run says about the first

mod bun;
mod cargo;
mod command;
pub mod detect;
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
    /// These tests, as a report named them. A runner that cannot choose runs more.
    Tests(Vec<TestCase>),
}

/// One test runner: how it is called, and how its answer is read. Nothing here runs anything.
pub trait TestRunner: Debug + Send + Sync {
    /// What people call it: `cargo test`, `npm test`.
    fn name(&self) -> String;

    /// A call that only builds, where building can be told from testing. What it finds broken ends the run.
    fn build(&self) -> Option<RunnerCommand> {
        None
    }

    fn parse_build(&self, _said: &RunnerOutput) -> Vec<BuildProblem> {
        Vec::new()
    }

    /// The command line, where that is all that is known.
    fn line(&self) -> Option<&str> {
        None
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand;

    fn read(&self, said: &RunnerOutput) -> TestReport;

    /// The exit code that means "there were no tests", where the runner has one of its own.
    fn none_ran_code(&self) -> Option<i32> {
        None
    }
}

/// The files of a selection, each once; nothing where all are meant. A name may look like an option or like the end of
/// another's, which `./` takes from it.
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
