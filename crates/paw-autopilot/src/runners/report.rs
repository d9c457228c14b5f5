//! The common test report: tests with their outcomes, and code that could not be loaded.

use std::borrow::Cow;
use std::path::PathBuf;

use paw_core::text;
use serde::{Deserialize, Serialize};

use super::SourceLocation;
use super::failure_text::what_failed;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

/// A test and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// Unique within a project, as far as the runner ensures it.
    pub name: String,
    /// Relative to the project, if the report has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    pub outcome: TestOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl TestCase {
    pub fn new(name: impl Into<String>, outcome: TestOutcome) -> Self {
        Self { name: name.into(), file: None, outcome, message: None }
    }

    #[must_use]
    pub fn in_file(mut self, file: Option<PathBuf>) -> Self {
        self.file = file;
        self
    }

    /// The failure message, truncated.
    #[must_use]
    pub fn because(mut self, message: impl AsRef<str>) -> Self {
        self.message = Some(beginning(message.as_ref())).filter(|message| !message.is_empty());
        self
    }

    /// What failed, in one line.
    pub fn error(&self) -> Option<String> {
        what_failed(self.message.as_deref()?)
    }
}

/// Code that could not be built, imported or collected, so that its tests did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildProblem {
    pub message: String,
    /// The files the error names, relative to the project.
    pub places: Vec<SourceLocation>,
}

impl BuildProblem {
    pub fn new(message: impl AsRef<str>, places: Vec<SourceLocation>) -> Self {
        Self { message: beginning(message.as_ref()), places }
    }
}

/// Limits the length of messages for users and prompts. What failed may stand far below, so it is put first.
fn beginning(message: &str) -> String {
    let message = text::strip_terminal_codes(message);
    let message = message.trim();
    let short = text::truncate_chars(message, 4000);
    match what_failed(message) {
        Some(error) if matches!(short, Cow::Owned(_)) && what_failed(&short).as_ref() != Some(&error) => {
            text::truncate_chars(&format!("{error}\n{short}"), 4000).into_owned()
        }
        _ => short.into_owned(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestReport {
    pub cases: Vec<TestCase>,
    pub broken: Vec<BuildProblem>,
    /// The runner wrote no report, or one that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// The runner reported that there are no tests, whatever its exit code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_to_run: bool,
}

impl TestReport {
    pub fn unreadable(why: impl Into<String>) -> Self {
        Self { unreadable: Some(why.into()), ..Self::default() }
    }

    pub fn nothing_to_run() -> Self {
        Self { nothing_to_run: true, ..Self::default() }
    }

    pub fn from_build_problems(broken: Vec<BuildProblem>) -> Self {
        Self { broken, ..Self::default() }
    }

    pub fn count(&self, outcome: TestOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    pub fn failed(&self) -> impl Iterator<Item = &TestCase> {
        self.cases.iter().filter(|case| case.outcome == TestOutcome::Failed)
    }

    pub fn names(&self, outcome: TestOutcome) -> std::collections::BTreeSet<&str> {
        self.cases.iter().filter(|case| case.outcome == outcome).map(|case| case.name.as_str()).collect()
    }

    /// The outcome of a test; the worst one if several share the name.
    pub fn outcome_of(&self, name: &str) -> Option<TestOutcome> {
        let rank = |outcome: &TestOutcome| match outcome {
            TestOutcome::Failed => 0,
            TestOutcome::Skipped => 1,
            TestOutcome::Passed => 2,
        };
        self.cases.iter().filter(|case| case.name == name).map(|case| case.outcome).min_by_key(rank)
    }
}
