//! GREEN: the tests of RED pass, nothing that passed before fails, and the tests are unchanged.

use std::collections::BTreeSet;
use std::path::Path;

use super::changes::between;
use super::file_kind::{FileRules, SourceKind};
use super::red::{RedProof, find_missing_tests, owned};
use super::runner_files::is_protected;
use super::runner_names::find_added_name;
use super::test_code::{normalize, split_tests};
use super::weakening::find_weakening;
use super::{FileChange, Objection};
use crate::runners::{TestOutcome, TestReport, TestRun, TestVerdict};

/// Proof that a subtask is done. Only [`judge_green`] creates one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GreenProof {
    proven: BTreeSet<String>,
    passed: usize,
}

impl GreenProof {
    /// Tests that failed before the code was written and pass now.
    pub fn proven(&self) -> &BTreeSet<String> {
        &self.proven
    }

    /// The number of passing tests.
    pub fn passed(&self) -> usize {
        self.passed
    }
}

/// Judges GREEN from the report before RED, the proof of RED, all changes since the last commit, and git paw's own
/// test run.
pub fn judge_green(
    rules: &FileRules,
    baseline: &TestReport,
    red: &RedProof,
    now: &[FileChange],
    run: &TestRun,
) -> Result<GreenProof, Vec<Objection>> {
    let since = between(&red.changes, now);
    let mut objections = wrong_changes(rules, &since);
    if objections.is_empty() && !since.iter().any(|change| changes_production(rules, change)) {
        objections.push(Objection::NoProductionChanged);
    }
    objections.extend(judge_run(baseline, red, run));
    let proven = proven(baseline, red, &run.report);
    if objections.is_empty() && proven.is_empty() {
        objections.push(Objection::NothingProven { files: red.files.iter().cloned().collect() });
    }
    if objections.is_empty() {
        Ok(GreenProof { proven, passed: run.report.count(TestOutcome::Passed) })
    } else {
        Err(objections)
    }
}

fn wrong_changes(rules: &FileRules, changes: &[FileChange]) -> Vec<Objection> {
    let mut objections: Vec<Objection> = Vec::new();
    for change in changes {
        if let Some(how) = find_weakening(rules, change) {
            objections.push(Objection::Weakened { file: change.path.clone(), how });
        }
        if let Some(name) = find_added_name(rules, change).filter(|_| is_production(rules, change)) {
            objections.push(Objection::NamesRunner { file: change.path.clone(), name: name.to_owned() });
        }
        if rules.kind(&change.path) == SourceKind::TaskFile {
            objections.push(Objection::TaskFileChanged);
        }
    }
    let links: Vec<_> = changes
        .iter()
        .filter(|change| change.leaves_repository())
        .map(|change| change.path.clone())
        .collect();
    if !links.is_empty() {
        objections.push(Objection::LinkLeaves { files: links });
    }
    let harness = changes.iter().filter(|change| is_protected(rules, change));
    let files: Vec<_> = harness.map(|change| change.path.clone()).collect();
    if !files.is_empty() {
        objections.push(Objection::HarnessChanged { files });
    }
    objections
}

fn is_production(rules: &FileRules, change: &FileChange) -> bool {
    rules.kind(&change.path) == SourceKind::Production
}

/// Whether a change can make a test pass honestly: not a comment, not test code.
fn changes_production(rules: &FileRules, change: &FileChange) -> bool {
    let rest = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        normalize(&change.path, &split_tests(rules, &change.path, text).1)
    };
    match rules.kind(&change.path) {
        SourceKind::Production => {
            rest(&change.before) != rest(&change.after)
                || change.before.is_some() != change.after.is_some()
                || change.modes.0 != change.modes.1
        }
        SourceKind::Manifest => true,
        _ => false,
    }
}

fn judge_run(baseline: &TestReport, red: &RedProof, run: &TestRun) -> Vec<Objection> {
    match run.verdict {
        TestVerdict::TimedOut => return vec![Objection::TimedOut],
        TestVerdict::NoneRan => return vec![Objection::NoTestsRan],
        TestVerdict::Crashed => {
            let output = run.report.unreadable.clone().unwrap_or_else(|| run.output.clone());
            return vec![Objection::Crashed { output }];
        }
        TestVerdict::BuildFailure => {
            let message = run.report.broken.first().map(|broken| broken.message.clone()).unwrap_or_default();
            return vec![Objection::BrokenHarness { message }];
        }
        TestVerdict::Passed | TestVerdict::Failures => {}
    }
    let mut objections = Vec::new();
    let not_passing = |name: &&str| run.report.outcome_of(name) != Some(TestOutcome::Passed);
    let still: Vec<&str> = red.tests.iter().map(String::as_str).filter(not_passing).collect();
    if !still.is_empty() {
        objections.push(Objection::StillFailing { tests: owned(&still) });
    }
    // Tests that failed before may still fail, unless RED relies on them.
    let is_new =
        |name: &&str| baseline.outcome_of(name) != Some(TestOutcome::Failed) && !red.tests.contains(*name);
    let new: Vec<&str> = run.report.names(TestOutcome::Failed).into_iter().filter(is_new).collect();
    if !new.is_empty() {
        objections.push(Objection::NewFailures { tests: owned(&new) });
    }
    let counted = |tests: &[String]| tests.iter().any(|name| !red.tests.contains(name));
    match find_missing_tests(baseline, &run.report) {
        Some(Objection::TestsGone { tests }) if counted(&tests) => {
            objections.push(Objection::TestsGone { tests });
        }
        _ => {}
    }
    objections
}

/// Tests that pass now and did not before: the tests of RED, or new tests in files that did not build.
fn proven(baseline: &TestReport, red: &RedProof, now: &TestReport) -> BTreeSet<String> {
    if red.files.is_empty() {
        return red.tests.clone();
    }
    let of_red =
        |file: Option<&Path>| file.is_none_or(|file| red.files.iter().any(|known| known.ends_with(file)));
    now.cases
        .iter()
        .filter(|case| case.outcome == TestOutcome::Passed && of_red(case.file.as_deref()))
        .filter(|case| baseline.outcome_of(&case.name).is_none())
        .map(|case| case.name.clone())
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
