//! RED: tests were written, nothing else, and they fail for want of what is yet to be written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::blame::places_of;
use super::harness::{changes_harness, only_test_dependencies};
use super::kind::{Kind, Rules};
use super::missing::{About, about};
use super::test_code::{essence, is_test_line, split};
use super::{FileChange, Objection};
use crate::runners::{Broken, Outcome, Report, TestRun, Verdict};

/// What a phase of writing tests has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Red {
    Proven(RedProof),
    /// Tests were written and pass at once: what they ask for seems to be there already.
    AlreadyGreen,
    Refused(Vec<Objection>),
}

/// What GREEN is held against. Plain facts, so that a run can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RedProof {
    /// Tests that were seen to fail, new or passing before.
    pub tests: BTreeSet<String>,
    /// Test files that did not build yet, so that their tests have no names.
    pub files: BTreeSet<PathBuf>,
    /// Everything that differed from the last commit then. Whatever is written later is compared with this, however
    /// many attempts lie in between.
    pub seen: Vec<FileChange>,
}

/// Judges a phase of writing tests: the suite as it was before, everything that differs from the last commit, and our own
/// run of the whole suite.
pub fn judge_red(rules: &Rules, baseline: &Report, changes: &[FileChange], run: &TestRun) -> Red {
    let mut objections = wrong_changes(rules, changes);
    if !changes.iter().any(|change| changes_tests(rules, change)) {
        objections.push(Objection::NoTestsChanged);
    }
    let found = judge_run(rules, baseline, changes, run);
    if let Err(objection) = &found {
        objections.push(objection.clone());
    }
    match found {
        Ok(found) if objections.is_empty() => match found {
            Found::Green => Red::AlreadyGreen,
            Found::Tests(tests) => {
                Red::Proven(RedProof { tests, seen: changes.to_vec(), ..RedProof::default() })
            }
            Found::Unbuilt(files) => {
                Red::Proven(RedProof { files, seen: changes.to_vec(), ..RedProof::default() })
            }
        },
        _ => Red::Refused(objections),
    }
}

fn wrong_changes(rules: &Rules, changes: &[FileChange]) -> Vec<Objection> {
    let mut objections = Vec::new();
    let files = |wrong: &dyn Fn(&FileChange) -> bool| {
        changes.iter().filter(|change| wrong(change)).map(|change| change.path.clone()).collect::<Vec<_>>()
    };
    let production = files(&|change| match rules.kind(&change.path) {
        Kind::Production => {
            rest(rules, change, change.before.as_deref()) != rest(rules, change, change.after.as_deref())
        }
        Kind::Manifest => !only_test_dependencies(change),
        Kind::Test | Kind::LockFile | Kind::Harness | Kind::Ours | Kind::Tasks => false,
    });
    let harness = files(&|change| changes_harness(rules, change));
    if !production.is_empty() {
        objections.push(Objection::ProductionChanged { files: production });
    }
    if !harness.is_empty() {
        objections.push(Objection::HarnessChanged { files: harness });
    }
    if changes.iter().any(|change| rules.kind(&change.path) == Kind::Tasks) {
        objections.push(Objection::TaskFileChanged);
    }
    objections
}

/// What a file does besides testing. A file that is not there does as little as an empty one.
fn rest(rules: &Rules, change: &FileChange, text: Option<&str>) -> String {
    essence(&change.path, &split(rules, &change.path, text.unwrap_or_default()).1)
}

/// Whether test code was written or changed. A file of tests that was deleted tests nothing.
fn changes_tests(rules: &Rules, change: &FileChange) -> bool {
    let tests =
        |text: Option<&str>| essence(&change.path, &split(rules, &change.path, text.unwrap_or_default()).0);
    matches!(rules.kind(&change.path), Kind::Test | Kind::Production)
        && change.after.is_some()
        && tests(change.before.as_deref()) != tests(change.after.as_deref())
}

enum Found {
    Tests(BTreeSet<String>),
    Unbuilt(BTreeSet<PathBuf>),
    Green,
}

fn judge_run(
    rules: &Rules,
    baseline: &Report,
    changes: &[FileChange],
    run: &TestRun,
) -> Result<Found, Objection> {
    match run.verdict {
        Verdict::TimedOut => Err(Objection::TimedOut),
        Verdict::Crashed => Err(Objection::Crashed {
            said: run.report.unreadable.clone().unwrap_or_else(|| run.output.clone()),
        }),
        Verdict::NoneRan => Err(Objection::NoTestsRan),
        Verdict::BuildFailure => judge_build(rules, baseline, changes, &run.report),
        Verdict::Passed => gone(baseline, &run.report).map_or(Ok(Found::Green), Err),
        Verdict::Failures => {
            if let Some(gone) = gone(baseline, &run.report) {
                return Err(gone);
            }
            let failed = run.report.names(Outcome::Failed);
            let (old, new): (Vec<&str>, Vec<&str>) =
                failed.into_iter().partition(|name| baseline.outcome_of(name) == Some(Outcome::Failed));
            if new.is_empty() {
                return Err(Objection::OnlyOldFailures { tests: owned(&old) });
            }
            Ok(Found::Tests(new.into_iter().map(str::to_owned).collect()))
        }
    }
}

/// Tests that passed before and did not run now: a suite that shrinks proves nothing.
pub(super) fn gone(baseline: &Report, now: &Report) -> Option<Objection> {
    let missing: Vec<&str> = baseline
        .names(Outcome::Passed)
        .into_iter()
        .filter(|name| matches!(now.outcome_of(name), None | Some(Outcome::Skipped)))
        .collect();
    (!missing.is_empty()).then(|| Objection::TestsGone { tests: owned(&missing) })
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// A build failure is RED where every error lies in test code of this phase, at least one of them names something that
/// does not exist yet, and none says that the text makes no sense.
fn judge_build(
    rules: &Rules,
    baseline: &Report,
    changes: &[FileChange],
    report: &Report,
) -> Result<Found, Objection> {
    let new: Vec<&Broken> = report.broken.iter().filter(|broken| !baseline.broken.contains(broken)).collect();
    let refused = |broken: Option<&&Broken>| {
        let message = broken.map(|broken| broken.message.clone()).unwrap_or_default();
        Err(Objection::BrokenHarness { message })
    };
    let in_new_tests = |broken: &Broken| {
        places_of(rules, changes, broken).iter().any(|place| {
            let change = changes.iter().find(|change| same_file(&change.path, &place.file));
            change.is_some_and(|change| {
                let text = change.after.as_deref().unwrap_or_default();
                is_test_line(rules, &change.path, text, place.line)
            })
        })
    };
    let wrong = |broken: &&&Broken| !in_new_tests(broken) || about(&broken.message) == About::Syntax;
    if let Some(broken) = new.iter().find(wrong) {
        return refused(Some(broken));
    }
    if !new.iter().any(|broken| about(&broken.message) == About::Missing) {
        return refused(new.first());
    }
    let places = new.iter().flat_map(|broken| places_of(rules, changes, broken));
    let files = places.filter(|place| changes.iter().any(|change| same_file(&change.path, &place.file)));
    Ok(Found::Unbuilt(files.map(|place| place.file).collect()))
}

/// A tool may name a file from a directory below the project's root.
fn same_file(change: &Path, named: &Path) -> bool {
    change == named || change.ends_with(named)
}

#[cfg(test)]
pub(super) mod tests;
