use std::collections::BTreeSet;
use std::time::Duration;

use paw_host::process::Exit;

use super::*;
use crate::runners::verdict::judge;
use crate::runners::{SourceLocation, TestCase};

pub(in crate::evidence) fn report(cases: &[(&str, TestOutcome)]) -> TestReport {
    let cases = cases.iter().map(|(name, outcome)| TestCase::new(*name, *outcome)).collect();
    TestReport { cases, ..TestReport::default() }
}

pub(in crate::evidence) fn run(report: TestReport) -> TestRun {
    let failed = report.count(TestOutcome::Failed) + report.broken.len();
    let exit = Exit::Code(i32::from(failed > 0));
    let verdict = judge(exit, &report, None);
    TestRun {
        command: "test".into(),
        exit,
        duration: Duration::ZERO,
        report,
        verdict,
        flaky: BTreeSet::new(),
        output: String::new(),
    }
}

pub(in crate::evidence) fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
    FileChange { path: path.into(), before, after, ..FileChange::default() }
}

fn new_test() -> FileChange {
    change("tests/a.test.js", None, Some("test('x', () => expect(f()).toBe(1))"))
}

fn red(baseline: &TestReport, changes: &[FileChange], report: TestReport) -> RedJudgement {
    judge_red(&FileRules::default(), baseline, changes, &run(report))
}

fn refused(red: RedJudgement) -> String {
    let RedJudgement::Refused(objections) = red else { panic!("not refused: {red:?}") };
    objections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

use TestOutcome::{Failed, Passed, Skipped};

#[test]
fn red_accepts_a_new_failing_test() {
    let judged = red(&report(&[("old", Passed)]), &[new_test()], report(&[("old", Passed), ("x", Failed)]));
    let RedJudgement::Proven(proof) = judged else { panic!("{judged:?}") };
    assert_eq!(proof.tests, BTreeSet::from(["x".to_owned()]));
    assert_eq!(proof.changes, [new_test()]);
}

#[test]
fn red_accepts_a_changed_test_that_fails_now() {
    let changed = change(
        "tests/a.test.js",
        Some("test('x', () => expect(1).toBe(1));"),
        Some("test('x', () => expect(1).toBe(2));"),
    );
    let judged = red(&report(&[("x", Passed)]), &[changed], report(&[("x", Failed)]));
    assert!(matches!(judged, RedJudgement::Proven(_)), "{judged:?}");
}

#[test]
fn red_refuses_a_failure_that_existed_before() {
    let judged = red(&report(&[("old", Failed)]), &[new_test()], report(&[("old", Failed), ("x", Passed)]));
    assert_eq!(refused(judged), "only tests fail that failed before: old");
}

#[test]
fn red_is_already_green_when_new_tests_pass() {
    let judged = red(&report(&[("old", Passed)]), &[new_test()], report(&[("old", Passed), ("x", Passed)]));
    assert_eq!(judged, RedJudgement::AlreadyGreen);
    assert_eq!(
        refused(red(&TestReport::default(), &[], report(&[("x", Passed)]))),
        "no test was written or changed"
    );
}

#[test]
fn red_refuses_production_code() {
    let code = change("src/f.js", Some(""), Some("export const f = () => 1"));
    let judged = red(&TestReport::default(), &[new_test(), code], report(&[("x", Failed)]));
    assert_eq!(refused(judged), "only test code may change in RED, but these files changed, too: src/f.js");
}

#[test]
fn red_accepts_inline_rust_tests_but_not_the_code_around_them() {
    let before = "pub fn f() -> i32 { 1 }\n";
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { assert_eq!(super::f(), 2); }\n}\n";
    let only_tests = change("src/lib.rs", Some(before), Some(&format!("{before}{tests}")));
    let judged = red(&TestReport::default(), &[only_tests], report(&[("t", Failed)]));
    assert!(matches!(judged, RedJudgement::Proven(_)), "{judged:?}");
    let both = change("src/lib.rs", Some(before), Some(&format!("{}{tests}", before.replace('1', "3"))));
    let judged = red(&TestReport::default(), &[both], report(&[("t", Failed)]));
    assert!(refused(judged).contains("src/lib.rs"));
}

#[test]
fn red_accepts_test_dependencies_but_not_test_scripts() {
    let package = r#"{"scripts": {"test": "vitest"}}"#;
    let dependency = change(
        "package.json",
        Some(package),
        Some(r#"{"scripts": {"test": "vitest"}, "devDependencies": {"a": "1"}}"#),
    );
    let lock = change("package-lock.json", Some("{}"), Some("{ }"));
    let ran = || report(&[("x", Failed)]);
    assert!(matches!(
        red(&TestReport::default(), &[new_test(), dependency, lock], ran()),
        RedJudgement::Proven(_)
    ));
    let script = change("package.json", Some(package), Some(r#"{"scripts": {"test": "true"}}"#));
    assert!(refused(red(&TestReport::default(), &[new_test(), script], ran())).contains("which tests run"));
}

#[test]
fn red_refuses_changes_to_tasks_json() {
    let tasks = change(".taskmaster/tasks/tasks.json", Some("{}"), Some("{ }"));
    let own = change(".taskmaster/reports/runs/x/log.jsonl", None, Some("{}"));
    let judged = red(&TestReport::default(), &[new_test(), tasks], report(&[("x", Failed)]));
    assert!(refused(judged).contains("tasks.json was changed"));
    assert!(matches!(
        red(&TestReport::default(), &[new_test(), own], report(&[("x", Failed)])),
        RedJudgement::Proven(_)
    ));
}

fn broken(message: &str, file: &str, line: u32) -> TestReport {
    TestReport::from_build_problems(vec![BuildProblem::new(
        message,
        vec![SourceLocation::new(file, Some(line))],
    )])
}

#[test]
fn red_accepts_a_build_failure_caused_by_missing_code() {
    let changes = [change("tests/a.rs", None, Some("#[test]\nfn t() { fix::subtract(); }\n"))];
    let missing = "error[E0425]: cannot find function `subtract` in crate `fix`";
    let judged = red(&TestReport::default(), &changes, broken(missing, "tests/a.rs", 2));
    let RedJudgement::Proven(proof) = judged else { panic!("{judged:?}") };
    assert_eq!(proof.files, BTreeSet::from([PathBuf::from("tests/a.rs")]));
}

#[test]
fn red_refuses_other_build_failures() {
    let changes = [change("tests/a.rs", None, Some("#[test]\nfn t() { fix::subtract(); }\n"))];
    let of =
        |message: &str, file: &str| refused(red(&TestReport::default(), &changes, broken(message, file, 2)));
    assert!(of("error[E0425]: cannot find x", "src/lib.rs").contains("do not build"));
    assert!(of("error: expected `;`", "tests/a.rs").contains("do not build"));
    assert!(of("error[E0308]: mismatched types", "tests/a.rs").contains("do not build"));
    let inline = "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { super::g() }\n}\n";
    let changes = [change("src/lib.rs", Some("fn f() {}\n"), Some(inline))];
    let missing = "error[E0425]: cannot find function `g`";
    assert!(matches!(
        red(&TestReport::default(), &changes, broken(missing, "src/lib.rs", 5)),
        RedJudgement::Proven(_)
    ));
    assert!(matches!(
        red(&TestReport::default(), &changes, broken(missing, "src/lib.rs", 1)),
        RedJudgement::Refused(_)
    ));
}

#[test]
fn red_refuses_missing_tests() {
    let baseline = report(&[("old", Passed), ("later", Skipped)]);
    assert!(refused(red(&baseline, &[new_test()], report(&[("x", Failed)]))).contains("did not run: old"));
    let skipped = report(&[("old", Skipped), ("x", Failed)]);
    assert!(refused(red(&baseline, &[new_test()], skipped)).contains("did not run: old"));
}

#[test]
fn red_refuses_a_run_that_hangs_crashes_or_runs_nothing() {
    let judged = |verdict| {
        let mut run = run(report(&[("x", Failed)]));
        run.verdict = verdict;
        refused(judge_red(&FileRules::default(), &TestReport::default(), &[new_test()], &run))
    };
    assert_eq!(judged(TestVerdict::TimedOut), "the tests timed out");
    assert_eq!(judged(TestVerdict::NoneRan), "no test ran");
    assert!(judged(TestVerdict::Crashed).starts_with("the test runner failed"));
}
