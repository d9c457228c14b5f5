//! vitest, jest, mocha, bun and node's test runner.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use paw_autopilot::runners::detect::{detect, load_facts};
use paw_autopilot::runners::run::run;
use paw_autopilot::runners::{TestLimits, TestOutcome, TestSelection, TestVerdict};
use paw_testkit::Sandbox;

use super::matrix::check_live;
use super::{all, has, installed, project, run_in, search_path, shown};

/// Links the packages that `scripts/test` installed into a project.
fn link(modules: &Path, root: &Path) {
    symlink(modules, root.join("node_modules")).unwrap();
}

#[test]
fn vitest_suites_of_every_kind_are_parsed() {
    if let Some(modules) = installed("vitest", "node_modules") {
        check_live("vitest", |root| link(&modules, root));
    }
}

#[test]
fn jest_suites_of_every_kind_are_parsed() {
    if let Some(modules) = installed("jest", "node_modules") {
        check_live("jest", |root| link(&modules, root));
    }
}

#[test]
fn mocha_suites_of_every_kind_are_parsed() {
    if let Some(modules) = installed("mocha", "node_modules") {
        check_live("mocha", |root| link(&modules, root));
    }
}

#[test]
fn bun_suites_of_every_kind_are_parsed() {
    if has("bun", &["--version"]) {
        check_live("bun", |_| {});
    }
}

#[test]
fn node_suites_of_every_kind_are_parsed() {
    if has("node", &["--version"]) {
        check_live("node", |_| {});
    }
}

/// Names with a meaning for shells, patterns or option parsers.
const NAMES: [&str; 9] = [
    "with spaces and (brackets) [x] {y}",
    "quotes ' \\\" `back`",
    "regex .*+?^$|",
    "ünïcödé 日本 🎉",
    "a > b",
    "--dash",
    "$HOME $(x)",
    "percent %s %d",
    "semi; colon: x",
];

/// File names of the same kind.
const FILES: [&str; 3] = ["odd [1] (x) ñ", "-dash", "a+b"];

/// Failing tests with such names in such files, and a file whose name ends like one of them.
fn hostile(sandbox: &Sandbox, runner: &str) -> std::path::PathBuf {
    let (head, script) = match runner {
        "vitest" => ("import { test, describe } from 'vitest';\n", "vitest"),
        "jest" => ("", "jest"),
        "mocha" => ("const test = it;\n", "mocha '*.test.js'"),
        "bun" => ("import { test, describe } from 'bun:test';\n", "bun test"),
        _ => ("import test, { describe } from 'node:test';\n", "node --test"),
    };
    let fails = |name: &str| format!("test(\"{name}\", () => {{ throw new Error('x'); }});\n");
    let tests: String = NAMES.into_iter().map(fails).collect();
    let text = format!("{head}{tests}describe('a group (1)', () => {{ {} }});\n", fails("in it"));
    for name in FILES {
        sandbox.write(&format!("app/{name}.test.js"), &text);
    }
    sandbox.write("app/fine-dash.test.js", &format!("{head}test('fine', () => {{}});\n"));
    let kind = if runner == "jest" { "commonjs" } else { "module" };
    let manifest = serde_json::json!({"type": kind, "scripts": {"test": script}});
    project(sandbox, &[("package.json", &manifest.to_string())])
}

fn runs_alone(runner: &str, prepare: impl Fn(&Path)) {
    let sandbox = Sandbox::new();
    let root = hostile(&sandbox, runner);
    prepare(&root);
    let ran = all(&root, Some(runner));
    assert_eq!(
        ran.report.count(TestOutcome::Failed),
        FILES.len() * (NAMES.len() + 1),
        "{runner} {}",
        shown(&ran)
    );
    assert_eq!(
        ran.report.names(TestOutcome::Failed).len(),
        ran.report.count(TestOutcome::Failed),
        "{runner}"
    );
    for file in FILES {
        let path = format!("{file}.test.js");
        let failed: Vec<_> = ran
            .report
            .failed()
            .filter(|case| case.file.as_deref() == Some(Path::new(&path)))
            .cloned()
            .collect();
        assert_eq!(failed.len(), NAMES.len() + 1, "{runner} {path}");
        let names: Vec<_> = failed.iter().map(|case| case.name.clone()).collect();
        let again = run_in(&root, Some(runner), &TestSelection::Tests(failed));
        let snapshot = again.report.names(TestOutcome::Failed);
        assert!(
            names.iter().all(|name| snapshot.contains(name.as_str())),
            "{runner} {path}\n{}",
            shown(&again)
        );
    }
}

#[test]
fn javascript_tests_with_unusual_names_can_be_selected() {
    for runner in ["vitest", "jest", "mocha"] {
        if let Some(modules) = installed(runner, "node_modules") {
            runs_alone(runner, |root| link(&modules, root));
        }
    }
    if has("bun", &["--version"]) {
        runs_alone("bun", |_| {});
    }
    if has("node", &["--version"]) {
        runs_alone("node", |_| {});
    }
}

#[test]
fn hanging_javascript_test_is_killed_with_its_workers() {
    let test = "while (true);\n";
    let node = has("node", &["--version"]);
    let of = |runner| (runner, installed(runner, "node_modules"));
    let runners = [of("vitest"), of("jest"), ("node", None)];
    for (runner, modules) in runners {
        if (runner == "node" && !node) || (runner != "node" && modules.is_none()) {
            continue;
        }
        let sandbox = Sandbox::new();
        let script = if runner == "node" { "node --test" } else { runner };
        let manifest = serde_json::json!({"scripts": {"test": script}}).to_string();
        let root = project(&sandbox, &[("package.json", &manifest), ("a.test.js", test)]);
        if let Some(modules) = modules {
            link(&modules, &root);
        }
        let detected = detect(&load_facts(&root, &search_path(), None), &root, None).unwrap();
        let limits = TestLimits { time: Duration::from_secs(3), output: 1 << 20 };
        let ran = run(None, detected.adapter.as_ref(), &root, &TestSelection::All, limits).unwrap();
        assert_eq!(ran.verdict, TestVerdict::TimedOut, "{runner}");
        let here = root.display().to_string();
        paw_testkit::wait_until("no process uses the directory", || (!works_in(&here)).then_some(()));
    }
}

/// Whether any process has this working directory.
fn works_in(root: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let places = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.into_iter().any(|place| place.starts_with(root))
}
