//! unittest and pytest.

use std::os::unix::fs::symlink;
use std::path::Path;

use paw_autopilot::runners::{TestOutcome, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

use super::matrix::check_live;
use super::{all, has, installed, project, run_in, shown};

const UNITTEST: &str = "import unittest\n\nclass A(unittest.TestCase):\n    def test_ok(self):\n        print('noise')\n    def test_bad(self):\n        \"\"\"First line\"\"\"\n        self.assertEqual(1, 2)\n    def test_err(self):\n        raise RuntimeError('x')\n    @unittest.skip('why')\n    def test_skip(self):\n        pass\n    @unittest.expectedFailure\n    def test_unexpected(self):\n        pass\n    def test_sub(self):\n        for i in range(2):\n            with self.subTest(i=i):\n                self.assertEqual(i, 0)\n";

#[test]
fn unittest_runs_bare_files_without_any_project_file() {
    if !has("python3", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let b = "from missing import nothing\nimport unittest\n\nclass B(unittest.TestCase):\n    def test_x(self):\n        pass\n";
    let root = project(&sandbox, &[("test_a.py", UNITTEST), ("tests/test_b.py", b)]);
    let ran = all(&root, Some("unittest"));
    insta::assert_snapshot!(shown(&ran), @"
    BuildFailure
    Broken Missing tests/test_b.py
    Failed test_a.A.test_bad
    Failed test_a.A.test_err
    Failed test_a.A.test_sub
    Failed test_a.A.test_unexpected
    Passed test_a.A.test_ok
    Skipped test_a.A.test_skip
    ");
    assert!(ran.report.broken[0].message.contains("No module named 'missing'"), "{ran:?}");
    let bad = ran.report.failed().find(|case| case.name.ends_with("test_bad")).unwrap();
    assert!(
        bad.message.as_deref().unwrap().contains("1 != 2")
            && bad.file.as_deref() == Some(Path::new("test_a.py"))
    );
    let again =
        run_in(&root, Some("unittest"), &TestSelection::Tests(ran.report.failed().cloned().collect()));
    assert_eq!(again.report.count(TestOutcome::Failed), ran.report.count(TestOutcome::Failed));
    assert!(!root.join("__pycache__").exists(), "nothing is left behind");
}

#[test]
fn python_project_without_tests_runs_none() {
    if !has("python3", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("test_empty.py", "x = 1\n")]);
    assert_eq!(all(&root, Some("unittest")).verdict, TestVerdict::NoneRan);
}

#[test]
fn pytest_suites_of_every_kind_are_parsed() {
    if let Some(venv) = installed("pytest", "venv") {
        check_live("pytest", |root| symlink(&venv, root.join(".venv")).unwrap());
    }
}

#[test]
fn pytest_tests_with_unusual_names_can_be_selected() {
    let Some(venv) = installed("pytest", "venv") else { return };
    let sandbox = Sandbox::new();
    let test = r#"import pytest

NAMES = ["with spaces", "quotes ' \" `", "regex .*+?^$|\\d", "ünïcödé 日本 🎉", "a::b", "a[b]", "--dash", "a/b.py", "$HOME", "tab\tx", ""]


@pytest.mark.parametrize("x", NAMES, ids=NAMES)
def test_names(x):
    assert False


def test_ünï():
    assert False


class TestA:
    class TestB:
        def test_in(self):
            assert False


def test_fine():
    pass
"#;
    let root = project(
        &sandbox,
        &[("-odd dir/test_odd ñ.py", test), ("test_[1].py", "def test_x():\n    assert False\n")],
    );
    symlink(&venv, root.join(".venv")).unwrap();
    let ran = all(&root, None);
    let (failed, passed) = (ran.report.count(TestOutcome::Failed), ran.report.count(TestOutcome::Passed));
    assert_eq!((failed, passed), (14, 1), "{}", shown(&ran));
    let (bracketed, failed): (Vec<_>, Vec<_>) =
        ran.report.failed().cloned().partition(|case| case.name.starts_with("test_["));
    let again = run_in(&root, None, &TestSelection::Tests(failed.clone()));
    assert_eq!(again.report.cases.len(), failed.len(), "{}", again.output);
    assert!(failed.iter().all(|case| again.report.outcome_of(&case.name) == Some(TestOutcome::Failed)));
    let files = run_in(&root, None, &TestSelection::Files(vec!["-odd dir/test_odd ñ.py".into()]));
    assert_eq!(files.report.cases.len(), 14, "{}", files.output);
    // A file that pytest cannot select is run with all others.
    let more = run_in(&root, None, &TestSelection::Tests(bracketed));
    assert_eq!(
        more.report.names(TestOutcome::Failed),
        ran.report.names(TestOutcome::Failed),
        "{}",
        more.output
    );
}
