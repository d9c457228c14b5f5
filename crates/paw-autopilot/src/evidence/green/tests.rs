use std::path::PathBuf;

use super::super::red::tests::{change, report, run};
use super::*;
use crate::runners::{BuildProblem, TestCase};

use TestOutcome::{Failed, Passed, Skipped};

fn proof(tests: &[&str], files: &[&str]) -> RedProof {
    RedProof {
        tests: tests.iter().map(ToString::to_string).collect(),
        files: files.iter().map(PathBuf::from).collect(),
        ..RedProof::default()
    }
}

/// A valid proof.
pub(crate) fn sample_proof() -> GreenProof {
    green(&TestReport::default(), &proof(&["x"], &[]), &[], report(&[("x", Passed)])).unwrap()
}

/// Judges with changes made after RED.
fn green(
    baseline: &TestReport,
    red: &RedProof,
    since: &[FileChange],
    report: TestReport,
) -> Result<GreenProof, String> {
    let look = |text: fn(&FileChange) -> &Option<String>| -> Vec<FileChange> {
        let at = |change: &FileChange| FileChange {
            path: change.path.clone(),
            after: text(change).clone(),
            ..FileChange::default()
        };
        since.iter().map(at).collect()
    };
    let red = RedProof { changes: look(|change| &change.before), ..red.clone() };
    let mut now = look(|change| &change.after);
    now.push(change("src/new.js", None, Some("export const x = 1")));
    judge_green(&FileRules::default(), baseline, &red, &now, &run(report))
        .map_err(|objections| objections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

#[test]
fn green_needs_the_red_tests_to_pass() {
    let code = change("src/f.js", Some(""), Some("export const f = 1"));
    let baseline = report(&[("old", Passed), ("bad", Failed)]);
    let proof = green(
        &baseline,
        &proof(&["x"], &[]),
        &[code],
        report(&[("old", Passed), ("bad", Failed), ("x", Passed)]),
    );
    let proof = proof.unwrap();
    assert_eq!((proof.passed(), proof.proven().len()), (2, 1));
}

#[test]
fn green_refuses_a_change_without_production_code() {
    let judged = |changes: &[FileChange]| {
        let passed = run(report(&[("x", Passed)]));
        judge_green(&FileRules::default(), &TestReport::default(), &proof(&["x"], &[]), changes, &passed)
    };
    let comment = change("src/f.js", Some("f()"), Some("f()\n// done"));
    for changes in [vec![], vec![comment], vec![change("tests/more.test.js", None, Some("x"))]] {
        assert_eq!(judged(&changes).unwrap_err(), [Objection::NoProductionChanged]);
    }
    judged(&[change("src/f.js", Some("f()"), Some("g()"))]).unwrap();
}

#[test]
fn green_refuses_failing_skipped_and_missing_red_tests() {
    let red = proof(&["x"], &[]);
    for now in [report(&[("x", Failed)]), report(&[("x", Skipped), ("y", Passed)]), report(&[("y", Passed)])]
    {
        assert_eq!(green(&TestReport::default(), &red, &[], now).unwrap_err(), "still failing: x");
    }
}

#[test]
fn green_refuses_regressions_and_missing_tests() {
    let (baseline, red) = (report(&[("old", Passed)]), proof(&["x"], &[]));
    let now = report(&[("old", Failed), ("x", Passed)]);
    assert_eq!(green(&baseline, &red, &[], now).unwrap_err(), "newly failing: old");
    let now = report(&[("x", Passed)]);
    assert_eq!(green(&baseline, &red, &[], now).unwrap_err(), "tests that passed before did not run: old");
}

#[test]
fn green_refuses_weakened_tests() {
    let test = "test('x', () => expect(f()).toBe(1))";
    let now = || report(&[("x", Passed)]);
    let judged = |after: Option<&str>| {
        let change = change("tests/a.test.js", Some(test), after);
        green(&TestReport::default(), &proof(&["x"], &[]), &[change], now()).unwrap_err()
    };
    assert!(judged(Some("test('x', () => expect(1).toBe(1))")).contains("weakened"));
    assert!(judged(None).contains("deleted"));
    let harness = change("pytest.ini", None, Some("[pytest]"));
    assert!(
        green(&TestReport::default(), &proof(&["x"], &[]), &[harness], now())
            .unwrap_err()
            .contains("pytest.ini")
    );
}

#[test]
fn green_needs_new_passing_tests_in_files_that_did_not_build() {
    let red = proof(&[], &["tests/a.rs"]);
    let in_file = |name: &str, outcome, file: &str| TestCase::new(name, outcome).in_file(Some(file.into()));
    let baseline = report(&[("old", Passed)]);
    let now = |case: TestCase| TestReport {
        cases: vec![TestCase::new("old", Passed), case],
        ..TestReport::default()
    };
    let judged = green(&baseline, &red, &[], now(in_file("a::t", Passed, "tests/a.rs"))).unwrap();
    assert!(judged.proven().contains("a::t"));
    let elsewhere = green(&baseline, &red, &[], now(in_file("b::t", Passed, "tests/b.rs"))).unwrap_err();
    assert_eq!(elsewhere, "the new tests in tests/a.rs have not run yet");
    let unknown = green(&baseline, &red, &[], now(TestCase::new("lib::tests::t", Passed))).unwrap();
    assert!(unknown.proven().contains("lib::tests::t"));
}

#[test]
fn green_refuses_a_suite_that_does_not_build_or_run() {
    let red = proof(&["x"], &[]);
    let broken = TestReport::from_build_problems(vec![BuildProblem::new(
        "error[E0308]: mismatched types",
        Vec::new(),
    )]);
    assert!(green(&TestReport::default(), &red, &[], broken).unwrap_err().contains("mismatched"));
    assert_eq!(green(&TestReport::default(), &red, &[], TestReport::default()).unwrap_err(), "no test ran");
}
