//! RED: only tests were written, and they fail because the code does not exist yet.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error_cause::{ErrorCause, classify_error};
use super::error_locations::locate_error;
use super::file_kind::{FileRules, SourceKind};
use super::kept_tests::{NewFailures, find_lost_strength};
use super::runner_files::changes_runner_file;
use super::test_code::{is_test_line, normalize, split_tests};
use super::test_config::{changes_only_test_dependencies, changes_test_config};
use super::{FileChange, Objection};
use crate::runners::{BuildProblem, TestOutcome, TestReport, TestRun, TestVerdict};

/// The judgement of a RED phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedJudgement {
    Proven(RedProof),
    /// The new tests pass without new code: the behaviour seems to exist already.
    AlreadyGreen,
    Refused(Vec<Objection>),
}

/// What GREEN is compared with. Serializable, so that a run can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RedProof {
    /// Tests that failed, new or passing before.
    pub tests: BTreeSet<String>,
    /// Test files that do not build yet, so that their tests have no names.
    pub files: BTreeSet<PathBuf>,
    /// All changes since the last commit at that moment. Later changes are compared with these, across attempts.
    #[serde(rename = "seen")]
    pub changes: Vec<FileChange>,
    /// The tree that the tests failed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// Judges RED from the report before, all changes since the last commit, and git paw's own test run.
pub fn judge_red(
    rules: &FileRules,
    baseline: &TestReport,
    changes: &[FileChange],
    run: &TestRun,
) -> RedJudgement {
    let mut objections = wrong_changes(rules, changes);
    if !changes.iter().any(|change| changes_tests(rules, change)) {
        objections.push(Objection::NoTestsChanged);
    }
    let failing = NewFailures::of(baseline, &run.report);
    objections.extend(changes.iter().filter_map(|change| {
        let how = find_lost_strength(rules, change, &failing)?;
        Some(Objection::Weakened { file: change.path.clone(), how })
    }));
    let found = judge_run(rules, baseline, changes, run);
    if let Err(objection) = &found
        && (*objection != Objection::NothingNew || objections.is_empty())
    {
        objections.push(objection.clone());
    }
    match found {
        Ok(found) if objections.is_empty() => match found {
            RedFinding::Green => RedJudgement::AlreadyGreen,
            RedFinding::Tests(tests) => {
                RedJudgement::Proven(RedProof { tests, changes: changes.to_vec(), ..RedProof::default() })
            }
            RedFinding::Unbuilt(files) => {
                RedJudgement::Proven(RedProof { files, changes: changes.to_vec(), ..RedProof::default() })
            }
        },
        _ => RedJudgement::Refused(objections),
    }
}

fn wrong_changes(rules: &FileRules, changes: &[FileChange]) -> Vec<Objection> {
    let mut objections = Vec::new();
    let files = |wrong: &dyn Fn(&FileChange) -> bool| {
        changes.iter().filter(|change| wrong(change)).map(|change| change.path.clone()).collect::<Vec<_>>()
    };
    let production = files(&|change| match rules.kind(&change.path) {
        SourceKind::Production => {
            rest(rules, change, change.before.as_deref()) != rest(rules, change, change.after.as_deref())
        }
        SourceKind::Manifest => !changes_only_test_dependencies(change),
        SourceKind::Test
        | SourceKind::LockFile
        | SourceKind::TestConfig
        | SourceKind::OwnFile
        | SourceKind::TaskFile => false,
    });
    let harness =
        files(&|change| changes_test_config(rules, change) || changes_runner_file(rules, change, true));
    let links = files(&FileChange::leaves_repository);
    if !links.is_empty() {
        objections.push(Objection::LinkLeaves { files: links });
    }
    if !production.is_empty() {
        objections.push(Objection::ProductionChanged { files: production });
    }
    if !harness.is_empty() {
        objections.push(Objection::HarnessChanged { files: harness });
    }
    if changes.iter().any(|change| rules.kind(&change.path) == SourceKind::TaskFile) {
        objections.push(Objection::TaskFileChanged);
    }
    objections
}

/// The normalized production code of a file.
fn rest(rules: &FileRules, change: &FileChange, text: Option<&str>) -> String {
    normalize(&change.path, &split_tests(rules, &change.path, text.unwrap_or_default()).1)
}

/// Whether test code was added or changed. A deleted test file does not count.
pub(crate) fn changes_tests(rules: &FileRules, change: &FileChange) -> bool {
    let tests = |text: Option<&str>| {
        normalize(&change.path, &split_tests(rules, &change.path, text.unwrap_or_default()).0)
    };
    matches!(rules.kind(&change.path), SourceKind::Test | SourceKind::Production)
        && change.after.is_some()
        && tests(change.before.as_deref()) != tests(change.after.as_deref())
}

enum RedFinding {
    Tests(BTreeSet<String>),
    Unbuilt(BTreeSet<PathBuf>),
    Green,
}

fn judge_run(
    rules: &FileRules,
    baseline: &TestReport,
    changes: &[FileChange],
    run: &TestRun,
) -> Result<RedFinding, Objection> {
    match run.verdict {
        TestVerdict::TimedOut => Err(Objection::TimedOut),
        TestVerdict::Crashed => Err(Objection::Crashed {
            output: run.report.unreadable.clone().unwrap_or_else(|| run.output.clone()),
        }),
        TestVerdict::NoneRan => Err(Objection::NoTestsRan),
        TestVerdict::BuildFailure => judge_build(rules, baseline, changes, &run.report),
        TestVerdict::Passed => match find_missing_tests(baseline, &run.report) {
            Some(gone) => Err(gone),
            None if has_new_test(baseline, &run.report) => Ok(RedFinding::Green),
            None => Err(Objection::NothingNew),
        },
        TestVerdict::Failures => {
            if let Some(gone) = find_missing_tests(baseline, &run.report) {
                return Err(gone);
            }
            let failed = run.report.names(TestOutcome::Failed);
            let (old, new): (Vec<&str>, Vec<&str>) =
                failed.into_iter().partition(|name| baseline.outcome_of(name) == Some(TestOutcome::Failed));
            if new.is_empty() {
                return Err(Objection::OnlyOldFailures { tests: owned(&old) });
            }
            Ok(RedFinding::Tests(new.into_iter().map(str::to_owned).collect()))
        }
    }
}

/// Whether a test passes that the baseline does not have. Only such a test shows that a behaviour exists already.
fn has_new_test(baseline: &TestReport, now: &TestReport) -> bool {
    now.names(TestOutcome::Passed).into_iter().any(|name| baseline.outcome_of(name).is_none())
}

/// Tests that passed before and did not run now.
pub(super) fn find_missing_tests(baseline: &TestReport, now: &TestReport) -> Option<Objection> {
    let missing: Vec<&str> = baseline
        .names(TestOutcome::Passed)
        .into_iter()
        .filter(|name| matches!(now.outcome_of(name), None | Some(TestOutcome::Skipped)))
        .collect();
    (!missing.is_empty()).then(|| Objection::TestsGone { tests: owned(&missing) })
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// A build failure proves RED if every error is in test code of this phase, at least one names something that does
/// not exist yet, and none is a syntax error.
fn judge_build(
    rules: &FileRules,
    baseline: &TestReport,
    changes: &[FileChange],
    report: &TestReport,
) -> Result<RedFinding, Objection> {
    let new: Vec<&BuildProblem> =
        report.broken.iter().filter(|broken| !baseline.broken.contains(broken)).collect();
    let refused = |broken: Option<&&BuildProblem>| {
        let message = broken.map(|broken| broken.message.clone()).unwrap_or_default();
        Err(Objection::BrokenHarness { message })
    };
    let in_new_tests = |broken: &BuildProblem| {
        locate_error(rules, changes, broken).iter().any(|place| {
            let change = changes.iter().find(|change| same_file(&change.path, &place.file));
            change.is_some_and(|change| {
                let text = change.after.as_deref().unwrap_or_default();
                is_test_line(rules, &change.path, text, place.line)
            })
        })
    };
    let wrong = |broken: &&&BuildProblem| {
        !in_new_tests(broken) || classify_error(&broken.message) == ErrorCause::Syntax
    };
    if let Some(broken) = new.iter().find(wrong) {
        return refused(Some(broken));
    }
    if !new.iter().any(|broken| classify_error(&broken.message) == ErrorCause::Missing) {
        return refused(new.first());
    }
    let places = new.iter().flat_map(|broken| locate_error(rules, changes, broken));
    let files = places.filter(|place| changes.iter().any(|change| same_file(&change.path, &place.file)));
    Ok(RedFinding::Unbuilt(files.map(|place| place.file).collect()))
}

/// A tool may name a file relative to a subdirectory.
fn same_file(change: &Path, named: &Path) -> bool {
    change == named || change.ends_with(named)
}

#[cfg(test)]
pub(super) mod tests;
