//! Coverage measured by real runners, with the tools that are installed.

use std::os::unix::fs::symlink;
use std::path::Path;

use paw_autopilot::coverage::{Coverage, PathBase, parse};
use paw_autopilot::runners::CoverageTools;
use paw_autopilot::runners::detect::{detect, load_facts};
use paw_autopilot::runners::run::measure;
use paw_testkit::Sandbox;

use super::{LIMITS, has, installed, project, search_path};

/// The coverage of a project, or why there is none.
fn measured(root: &Path, runner: &str) -> Result<Coverage, String> {
    let path = search_path();
    let detected = detect(&load_facts(root, &path, Some(runner)), root, Some(runner)).unwrap();
    let coverage = detected.adapter.coverage(&CoverageTools { root, search_path: &path })?;
    let reports = measure(None, &coverage, root, LIMITS).unwrap()?;
    let base = PathBase {
        root,
        go_module: Some("example.com/m"),
        is_file: &|path| root.join(path).is_file(),
        is_test: &|path| path.to_string_lossy().contains("test"),
    };
    Ok(reports.iter().fold(Coverage::default(), |all, text| all.or(parse(text, base).unwrap())))
}

/// The lines of one file that no test runs, and whether all other files are code.
fn missed(coverage: &Coverage, file: &str) -> Vec<u32> {
    let lines =
        coverage.files.get(Path::new(file)).unwrap_or_else(|| panic!("{file} is not in {coverage:?}"));
    lines.iter().filter(|(_, hits)| **hits == 0).map(|(line, _)| *line).collect()
}

fn names(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const PYTHON: [(&str, &str); 3] = [
    ("pkg/__init__.py", ""),
    (
        "pkg/a.py",
        "def used(x):\n    if x:\n        return 1\n    return 2\n\n\ndef unused():\n    return 3\n",
    ),
    (
        "tests/test_a.py",
        "import unittest\n\nfrom pkg import a\n\nclass A(unittest.TestCase):\n    def test_used(self):\n        self.assertEqual(a.used(1), 1)\n\n    def test_bad(self):\n        self.assertEqual(a.used(1), 7)\n",
    ),
];

#[test]
fn coverage_py_measures_pytest_and_unittest_although_a_test_fails() {
    let Some(venv) = installed("coverage", "venv") else { return };
    for runner in ["pytest", "unittest"] {
        let sandbox = Sandbox::new();
        let root = project(&sandbox, &PYTHON);
        symlink(&venv, root.join(".venv")).unwrap();
        let before = names(&root);
        let coverage = measured(&root, runner).unwrap();
        assert_eq!(missed(&coverage, "pkg/a.py"), [4, 8], "{runner}");
        assert!(coverage.branches.is_some() && coverage.lines == coverage.statements, "{coverage:?}");
        assert!(!coverage.files.keys().any(|file| file.starts_with("tests")), "{coverage:?}");
        assert_eq!(names(&root), before, "nothing is left behind");
    }
}

#[test]
fn python_without_coverage_py_has_no_gate_and_says_what_to_install() {
    let sandbox = Sandbox::new();
    if !sandbox.install_python() {
        return;
    }
    let root = project(&sandbox, &PYTHON);
    std::fs::create_dir_all(root.join("venv/bin")).unwrap();
    symlink(sandbox.root().join("bin/python3"), root.join("venv/bin/python")).unwrap();
    let why = measured(&root, "unittest").unwrap_err();
    assert_eq!(why, "coverage.py is not installed for venv/bin/python (pip install coverage)");
}

const CODE: &str = "function used(x) {\n  if (x) {\n    return 1;\n  }\n  return 2;\n}\nfunction unused() {\n  return 3;\n}\n";

fn javascript(test: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let package = format!("{{\"type\": \"module\", \"scripts\": {{\"test\": \"{script}\"}}}}");
    let code = format!("{CODE}export {{ used, unused }};\n");
    project(&sandbox, &[("package.json", &package), ("src/a.js", &code), ("a.test.js", test)]);
    sandbox
}

#[test]
fn vitest_measures_coverage_if_its_provider_is_installed() {
    let Some(modules) = installed("vitest", "node_modules") else { return };
    let test = "import { expect, test } from 'vitest';\nimport { used } from './src/a.js';\ntest('used', () => expect(used(1)).toBe(1));\ntest('bad', () => expect(used(1)).toBe(7));\n";
    let sandbox = javascript(test, "vitest");
    let root = sandbox.root().join("app");
    let why = measured(&root, "vitest").unwrap_err();
    assert!(why.contains("npm install --save-dev @vitest/coverage-v8"), "{why}");
    symlink(&modules, root.join("node_modules")).unwrap();
    if !modules.join("@vitest/coverage-v8").exists() {
        return eprintln!("skipped: @vitest/coverage-v8 is not installed (scripts/test does it)");
    }
    let before = names(&root);
    let coverage = measured(&root, "vitest").unwrap();
    assert_eq!(missed(&coverage, "src/a.js"), [5, 8]);
    assert!(coverage.statements.is_some() && coverage.functions.is_some(), "{coverage:?}");
    assert_eq!(names(&root), before, "nothing is left behind");
}

#[test]
fn jest_measures_coverage_by_itself() {
    let Some(modules) = installed("jest", "node_modules") else { return };
    let sandbox = Sandbox::new();
    let code = format!("{CODE}module.exports = {{ used, unused }};\n");
    let test = "const { used } = require('./src/a.js');\ntest('used', () => expect(used(1)).toBe(1));\ntest('bad', () => expect(used(1)).toBe(7));\n";
    let package = "{\"scripts\": {\"test\": \"jest\"}, \"jest\": {\"coverageThreshold\": {\"global\": {\"lines\": 100}}}}";
    let root = project(&sandbox, &[("package.json", package), ("src/a.js", &code), ("a.test.js", test)]);
    symlink(&modules, root.join("node_modules")).unwrap();
    let coverage = measured(&root, "jest").unwrap();
    assert_eq!(missed(&coverage, "src/a.js"), [5, 8]);
    assert!(coverage.statements.is_some() && coverage.branches.is_some(), "{coverage:?}");
    assert!(!root.join("coverage").exists(), "nothing is left behind");
}

#[test]
fn mocha_measures_coverage_with_c8() {
    let Some(modules) = installed("mocha", "node_modules") else { return };
    let test = "import assert from 'node:assert';\nimport { used } from '../src/a.js';\nit('used', () => assert.equal(used(1), 1));\n";
    let sandbox = javascript("", "mocha");
    let root = sandbox.root().join("app");
    sandbox.write("app/test/a.js", test);
    assert!(measured(&root, "mocha").unwrap_err().contains("npm install --save-dev c8"));
    symlink(&modules, root.join("node_modules")).unwrap();
    if !modules.join(".bin/c8").exists() {
        return eprintln!("skipped: c8 is not installed (scripts/test does it)");
    }
    let coverage = measured(&root, "mocha").unwrap();
    let missed = missed(&coverage, "src/a.js");
    assert!(missed.contains(&5) && missed.contains(&8) && !missed.contains(&3), "{missed:?}");
    assert!(!root.join("coverage").exists(), "nothing is left behind");
}

#[test]
fn node_measures_coverage_by_itself() {
    if !has("node", &["--version"]) {
        return;
    }
    let test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { used } from './src/a.js';\ntest('used', () => assert.equal(used(1), 1));\ntest('bad', () => assert.equal(used(1), 7));\n";
    let sandbox = javascript(test, "node --test");
    let root = sandbox.root().join("app");
    match measured(&root, "node") {
        Ok(coverage) => {
            let missed = missed(&coverage, "src/a.js");
            assert!(missed.contains(&5) && missed.contains(&8) && !missed.contains(&3), "{missed:?}");
        }
        Err(why) => assert_eq!(why, "node measures coverage since version 20.11"),
    }
}

#[test]
fn bun_measures_coverage_by_itself() {
    if !has("bun", &["--version"]) {
        return;
    }
    let test = "import { expect, test } from 'bun:test';\nimport { used } from './src/a.js';\ntest('used', () => expect(used(1)).toBe(1));\ntest('bad', () => expect(used(1)).toBe(7));\n";
    let sandbox = javascript(test, "bun test");
    let root = sandbox.root().join("app");
    let coverage = measured(&root, "bun").unwrap();
    let missed = missed(&coverage, "src/a.js");
    assert!(missed.contains(&8) && !missed.contains(&3), "{missed:?}");
    assert!(!root.join("coverage").exists(), "nothing is left behind");
}

#[test]
fn go_measures_coverage_of_all_packages() {
    if !has("go", &["version"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code = "package m\n\nfunc Used(x int) int {\n\tif x > 0 {\n\t\treturn 1\n\t}\n\treturn 2\n}\n\nfunc Unused() int {\n\treturn 3\n}\n";
    let test = "package m\n\nimport \"testing\"\n\nfunc TestUsed(t *testing.T) {\n\tif Used(1) != 1 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestBad(t *testing.T) {\n\tt.Fatal(\"bad\")\n}\n";
    let other = "package other\n\nfunc Never() int {\n\treturn 4\n}\n";
    let files = [
        ("go.mod", "module example.com/m\n\ngo 1.19\n"),
        ("a.go", code),
        ("a_test.go", test),
        ("other/b.go", other),
    ];
    let root = project(&sandbox, &files);
    let coverage = measured(&root, "go").unwrap();
    let missed = missed(&coverage, "a.go");
    assert!(missed.contains(&7) && missed.contains(&11) && !missed.contains(&5), "{missed:?}");
    assert!(coverage.files.contains_key(Path::new("other/b.go")), "{coverage:?}");
    assert_eq!(names(&root), ["a.go", "a_test.go", "go.mod", "other"]);
}

#[test]
fn cargo_without_a_coverage_tool_has_no_gate_and_says_what_to_install() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, &[("Cargo.toml", "[package]\nname = \"x\"\n")]);
    let path = sandbox.root().join("bin");
    std::fs::create_dir_all(&path).unwrap();
    let adapter = |runner| {
        detect(&load_facts(&root, path.as_os_str(), Some(runner)), &root, Some(runner)).unwrap().adapter
    };
    let tools = CoverageTools { root: &root, search_path: path.as_os_str() };
    let why = adapter("cargo").coverage(&tools).unwrap_err();
    assert!(why.contains("cargo install cargo-llvm-cov"), "{why}");
    let shown = |runner| {
        let run = adapter(runner).coverage(&tools).unwrap();
        run.command.command(Path::new("/"), Path::new("/t")).to_string()
    };
    sandbox.install_program("cargo-tarpaulin", "#!/bin/sh\n");
    assert_eq!(
        shown("cargo"),
        "cargo tarpaulin --no-fail-fast --skip-clean --out Lcov --output-dir /t/reports"
    );
    sandbox.install_program("cargo-llvm-cov", "#!/bin/sh\n");
    assert_eq!(
        shown("cargo"),
        "cargo llvm-cov --no-fail-fast --ignore-run-fail --json --output-path /t/report"
    );
    assert_eq!(
        shown("nextest"),
        "cargo llvm-cov nextest --no-fail-fast --ignore-run-fail --json --output-path /t/report"
    );
}
