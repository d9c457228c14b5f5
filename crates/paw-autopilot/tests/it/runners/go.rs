//! `go test`.

use std::fs;

use paw_autopilot::runners::{TestOutcome, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

use super::matrix::check_live;
use super::{all, has, project, run_in, shown};

const MODULE: &str = "module example.com/app\n\ngo 1.19\n";

#[test]
fn go_suites_of_every_kind_are_parsed() {
    if has("go", &["version"]) {
        check_live("go", |_| {});
    }
}

#[test]
fn go_module_without_tests_runs_none() {
    if !has("go", &["version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("go.mod", MODULE), ("a.go", "package app\n")]);
    assert_eq!(shown(&all(&root, None)), "NoneRan");
    fs::write(root.join("a.go"), "package app\n\nfunc A() { b() }\n").unwrap();
    let ran = all(&root, None);
    assert_ne!(ran.verdict, TestVerdict::Passed, "{ran:?}");
}

#[test]
fn go_tests_with_unusual_names_can_be_selected() {
    if !has("go", &["version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let test = r#"package app

import "testing"

func TestNames(t *testing.T) {
	for _, name := range []string{"with spaces", "quotes ' \" `", "regex .*+?^$|\\d", "ünïcödé 日本 🎉", "a/b", "--dash"} {
		t.Run(name, func(t *testing.T) { t.Error("x") })
	}
}

func TestÜnï(t *testing.T) { t.Error("x") }

func TestFine(t *testing.T) {}
"#;
    let root = project(&sandbox, &[("go.mod", MODULE), ("a_test.go", test)]);
    let ran = all(&root, None);
    assert_eq!(
        (ran.report.count(TestOutcome::Failed), ran.report.count(TestOutcome::Passed)),
        (7, 1),
        "{}",
        shown(&ran)
    );
    let again = run_in(&root, None, &TestSelection::Tests(ran.report.failed().cloned().collect()));
    assert_eq!(again.report.names(TestOutcome::Failed), ran.report.names(TestOutcome::Failed));
    assert_eq!(again.report.count(TestOutcome::Passed), 0);
}
