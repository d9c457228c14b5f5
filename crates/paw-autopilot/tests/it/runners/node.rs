//! node's test runner.

use std::fs;

use paw_autopilot::runners::{TestOutcome, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

use super::{all, has, project, run_in, shown};

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
    Broken Missing b.test.mjs
    Failed a.test.mjs > fails
    Failed a.test.mjs > suite > inner bad
    Passed a.test.mjs > adds
    Passed a.test.mjs > suite > inner ok
    Skipped a.test.mjs > skipped
    ");
    assert!(ran.report.broken[0].message.contains("missing.mjs"), "{ran:?}");
    let targeted = run_in(&root, None, &TestSelection::Files(vec!["a.test.mjs".into()]));
    assert_eq!((targeted.verdict, targeted.report.count(TestOutcome::Failed)), (TestVerdict::Failures, 2));
    let names: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "nothing is left behind: {names:?}");
}

#[test]
fn node_project_without_tests_runs_none() {
    if !has("node", &["--version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("package.json", r#"{"scripts": {"test": "node --test"}}"#)]);
    assert_eq!(all(&root, None).verdict, TestVerdict::NoneRan);
}
