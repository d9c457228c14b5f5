//! `cargo test` and `cargo nextest`.

use std::fs;
use std::path::PathBuf;

use paw_autopilot::runners::{TestOutcome, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

use super::{all, has, project, run_in, shown};

const MANIFEST: &str = "[package]\nname = \"fix\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
const LIBRARY: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 1), 2);\n    }\n\n    #[test]\n    fn bad() {\n        assert_eq!(super::add(1, 1), 3, \"numbers\");\n    }\n\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n";

fn crate_of_two_binaries(sandbox: &Sandbox) -> PathBuf {
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
    let targeted = run_in(&root, None, &TestSelection::Files(vec!["tests/more.rs".into()]));
    assert_eq!(shown(&targeted), "Passed\nPassed more::outside");
    let by_name = run_in(&root, None, &TestSelection::Tests(vec![bad.clone()]));
    assert_eq!(by_name.report.names(TestOutcome::Failed).len(), 1, "{by_name:?}");
    assert_eq!(by_name.report.cases.len(), 1);
}

#[test]
fn cargo_compile_error_is_a_build_failure_with_a_location() {
    let sandbox = Sandbox::new();
    let root = crate_of_two_binaries(&sandbox);
    fs::write(root.join("tests/more.rs"), "#[test]\nfn outside() {\n    fix::subtract(1, 1);\n}\n").unwrap();
    let ran = all(&root, None);
    assert_eq!(shown(&ran), "BuildFailure\nBroken Missing tests/more.rs");
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
    let again = run_in(&root, None, &TestSelection::Tests(failed));
    assert_eq!((again.verdict, again.report.count(TestOutcome::Passed)), (TestVerdict::Failures, 0));
    fs::write(root.join("src/lib.rs"), "").unwrap();
    fs::remove_dir_all(root.join("tests")).unwrap();
    assert_eq!(all(&root, None).verdict, TestVerdict::NoneRan);
}
