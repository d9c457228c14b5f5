//! Real test runners in fixture projects. One that this machine does not have is skipped, by name.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use paw_autopilot::runners::detect::{detect, gather};
use paw_autopilot::runners::run::{run, run_twice};
use paw_autopilot::runners::{Limits, Outcome, Selection, TestRun, Verdict};
use paw_testkit::Sandbox;

const LIMITS: Limits = Limits { time: Duration::from_mins(4), output: 16 << 20 };

fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

fn project(sandbox: &Sandbox, files: &[(&str, &str)]) -> std::path::PathBuf {
    for (name, text) in files {
        sandbox.write(&format!("app/{name}"), text);
    }
    sandbox.root().join("app")
}

fn run_in(root: &Path, wish: Option<&str>, which: &Selection) -> TestRun {
    let detected = detect(&gather(root, &search_path()), root, wish).unwrap();
    run(detected.adapter.as_ref(), root, which, LIMITS).unwrap()
}

fn all(root: &Path, wish: Option<&str>) -> TestRun {
    run_in(root, wish, &Selection::All)
}

/// Everything a report says, a line each, sorted.
fn shown(run: &TestRun) -> String {
    let mut lines: Vec<String> =
        run.report.cases.iter().map(|case| format!("{:?} {}", case.outcome, case.name)).collect();
    lines.extend(run.report.broken.iter().map(|broken| {
        let places: Vec<_> = broken.places.iter().map(|place| place.file.display().to_string()).collect();
        format!("Broken {}", places.join(" "))
    }));
    lines.sort();
    format!("{:?}\n{}", run.verdict, lines.join("\n"))
}

fn has(program: &str, args: &[&str]) -> bool {
    let found =
        std::process::Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: this machine has no {program} {}", args.join(" "));
    }
    found
}

const MANIFEST: &str = "[package]\nname = \"fix\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
const LIBRARY: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 1), 2);\n    }\n\n    #[test]\n    fn bad() {\n        assert_eq!(super::add(1, 1), 3, \"numbers\");\n    }\n\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n";

fn crate_of_two_binaries(sandbox: &Sandbox) -> std::path::PathBuf {
    project(
        sandbox,
        &[("Cargo.toml", MANIFEST), ("src/lib.rs", LIBRARY), ("tests/more.rs", "#[test]\nfn outside() {}\n")],
    )
}

#[test]
fn cargo_test_names_tests_of_every_binary() {
    let sandbox = Sandbox::new();
    let root = crate_of_two_binaries(&sandbox);
    let ran = all(&root, None);
    insta::assert_snapshot!(shown(&ran), @"
    Failures
    Failed fix::tests::bad
    Passed fix::tests::adds
    Passed more::outside
    Skipped fix::tests::later
    ");
    assert_eq!(ran.command, "cargo test --no-fail-fast --workspace");
    let bad = ran.report.failed().next().unwrap();
    assert!(bad.message.as_deref().unwrap().contains("numbers"), "{bad:?}");
    let targeted = run_in(&root, None, &Selection::Files(vec!["tests/more.rs".into()]));
    assert_eq!(shown(&targeted), "Passed\nPassed more::outside");
    let by_name = run_in(&root, None, &Selection::Tests(vec![bad.clone()]));
    assert_eq!(by_name.report.names(Outcome::Failed).len(), 1, "{by_name:?}");
    assert_eq!(by_name.report.cases.len(), 1);
}

#[test]
fn code_that_does_not_compile_is_a_build_failure_with_its_place() {
    let sandbox = Sandbox::new();
    let root = crate_of_two_binaries(&sandbox);
    fs::write(root.join("tests/more.rs"), "#[test]\nfn outside() {\n    fix::subtract(1, 1);\n}\n").unwrap();
    let ran = all(&root, None);
    assert_eq!(shown(&ran), "BuildFailure\nBroken tests/more.rs");
    assert!(ran.report.broken[0].message.contains("cannot find function `subtract`"), "{ran:?}");
    assert_eq!(ran.report.broken[0].places[0].line, Some(3));
}

#[test]
fn cargo_nextest_names_the_same_tests() {
    if !has("cargo", &["nextest", "--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let root = crate_of_two_binaries(&sandbox);
    sandbox.write("app/.config/nextest.toml", "");
    let ran = all(&root, None);
    insta::assert_snapshot!(shown(&ran), @"
    Failures
    Failed fix::fix$tests::bad
    Passed fix::fix$tests::adds
    Passed fix::more$outside
    Skipped fix::fix$tests::later
    ");
    let failed: Vec<_> = ran.report.failed().cloned().collect();
    let again = run_in(&root, None, &Selection::Tests(failed));
    assert_eq!((again.verdict, again.report.count(Outcome::Passed)), (Verdict::Failures, 0));
    fs::write(root.join("src/lib.rs"), "").unwrap();
    fs::remove_dir_all(root.join("tests")).unwrap();
    assert_eq!(all(&root, None).verdict, Verdict::NoneRan);
}

#[test]
fn node_test_names_files_suites_and_modules_that_cannot_be_imported() {
    if !has("node", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let a = "import test, { describe, it } from 'node:test';\nimport assert from 'node:assert';\n\
        test('adds', () => assert.equal(1 + 1, 2));\ntest('fails', () => assert.equal(1 + 1, 3));\n\
        test('skipped', { skip: true }, () => {});\n\
        describe('suite', () => { it('inner ok', () => {}); it('inner bad', () => { throw new Error('boom'); }); });\n";
    let b = "import { nothing } from './missing.mjs';\nimport test from 'node:test';\ntest('never', () => nothing());\n";
    let root = project(
        &sandbox,
        &[("package.json", r#"{"scripts": {"test": "node --test"}}"#), ("a.test.mjs", a), ("b.test.mjs", b)],
    );
    let ran = all(&root, None);
    insta::assert_snapshot!(shown(&ran), @"
    BuildFailure
    Broken b.test.mjs
    Failed a.test.mjs > fails
    Failed a.test.mjs > suite > inner bad
    Passed a.test.mjs > adds
    Passed a.test.mjs > suite > inner ok
    Skipped a.test.mjs > skipped
    ");
    assert!(ran.report.broken[0].message.contains("missing.mjs"), "{ran:?}");
    let targeted = run_in(&root, None, &Selection::Files(vec!["a.test.mjs".into()]));
    assert_eq!((targeted.verdict, targeted.report.count(Outcome::Failed)), (Verdict::Failures, 2));
    let names: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "nothing is left behind: {names:?}");
}

#[test]
fn node_without_tests_has_none_that_ran() {
    if !has("node", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("package.json", r#"{"scripts": {"test": "node --test"}}"#)]);
    assert_eq!(all(&root, None).verdict, Verdict::NoneRan);
}

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
    Broken tests/test_b.py
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
    let again = run_in(&root, Some("unittest"), &Selection::Tests(ran.report.failed().cloned().collect()));
    assert_eq!(again.report.count(Outcome::Failed), ran.report.count(Outcome::Failed));
    assert!(!root.join("__pycache__").exists(), "nothing is left behind");
}

#[test]
fn a_python_project_without_tests_of_its_own_has_none_that_ran() {
    if !has("python3", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("test_empty.py", "x = 1\n")]);
    assert_eq!(all(&root, Some("unittest")).verdict, Verdict::NoneRan);
}

#[test]
fn pytest_names_tests_so_that_it_finds_them_again() {
    if !has("python3", &["-c", "import pytest"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let test = "def test_ok():\n    pass\n\ndef test_bad():\n    assert 1 == 2\n";
    let root = project(&sandbox, &[("test_a.py", test), ("test_b.py", "import missing\n")]);
    let ran = all(&root, None);
    assert_eq!(
        shown(&ran),
        "BuildFailure\nBroken test_b.py\nFailed test_a.py::test_bad\nPassed test_a.py::test_ok"
    );
    let again = run_in(&root, None, &Selection::Tests(ran.report.failed().cloned().collect()));
    assert_eq!(shown(&again), "Failures\nFailed test_a.py::test_bad");
}

#[test]
fn a_command_of_the_users_own_is_judged_by_its_exit_code() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    assert_eq!(all(&root, Some("test -e x")).verdict, Verdict::Passed);
    let ran = all(&root, Some("echo no; echo luck >&2; exit 3"));
    assert_eq!(ran.verdict, Verdict::Failures);
    assert_eq!(ran.report.cases[0].message.as_deref(), Some("no\nluck"));
    assert_eq!(all(&root, Some("no-such-program-here")).verdict, Verdict::Crashed);
}

#[test]
fn a_suite_that_hangs_is_ended_with_everything_it_has_started() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    let line = "sleep 600 & echo $! > pid; wait";
    let detected = detect(&gather(&root, &search_path()), &root, Some(line)).unwrap();
    let limits = Limits { time: Duration::from_millis(500), output: 1 << 20 };
    let ran = run(detected.adapter.as_ref(), &root, &Selection::All, limits).unwrap();
    assert_eq!(ran.verdict, Verdict::TimedOut);
    let pid = fs::read_to_string(root.join("pid")).unwrap();
    let alive =
        || fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "));
    paw_testkit::wait_until("the sleeper is gone", || (!alive()).then_some(()));
}

#[test]
fn a_suite_that_floods_its_output_is_ended_and_proves_nothing() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    let detected =
        detect(&gather(&root, &search_path()), &root, Some("while :; do echo flood; done")).unwrap();
    let limits = Limits { time: Duration::from_mins(2), output: 1 << 20 };
    let ran = run(detected.adapter.as_ref(), &root, &Selection::All, limits).unwrap();
    assert_eq!(ran.verdict, Verdict::Crashed);
    assert!(ran.output.len() <= 20_000);
}

#[test]
fn a_test_that_fails_once_is_named_flaky_and_one_that_fails_twice_is_not() {
    if !has("python3", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let test = "import os\nimport unittest\n\nclass A(unittest.TestCase):\n    def test_flaky(self):\n        first = not os.path.exists('seen')\n        open('seen', 'w').close()\n        self.assertFalse(first)\n    def test_bad(self):\n        self.fail()\n";
    let root = project(&sandbox, &[("test_a.py", test)]);
    let detected = detect(&gather(&root, &search_path()), &root, Some("unittest")).unwrap();
    let ran = run_twice(detected.adapter.as_ref(), &root, &Selection::All, LIMITS).unwrap();
    assert_eq!(ran.flaky.iter().map(String::as_str).collect::<Vec<_>>(), ["test_a.A.test_flaky"]);
    assert_eq!(shown(&ran), "Failures\nFailed test_a.A.test_bad\nPassed test_a.A.test_flaky");
}

#[test]
fn tests_do_not_see_the_users_keys() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("x", "")]);
    let ran = all(&root, Some("env; exit 1"));
    let names: Vec<_> =
        ran.output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"PATH") && !names.contains(&"CARGO_PKG_NAME"), "{names:?}");
}
