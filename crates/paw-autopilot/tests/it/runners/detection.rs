//! Projects with missing, ambiguous or invalid test settings.

use paw_autopilot::runners::detect::{DetectError, DetectedRunner, detect, load_facts};
use paw_core::Diagnostic as _;
use paw_testkit::Sandbox;

use super::{project, search_path};

fn found(files: &[(&str, &str)], requested: Option<&str>) -> Result<DetectedRunner, DetectError> {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, files);
    std::fs::create_dir_all(&root).unwrap();
    detect(&load_facts(&root, &search_path(), requested), &root, requested)
}

fn name(files: &[(&str, &str)], requested: Option<&str>) -> String {
    found(files, requested).unwrap().adapter.name()
}

#[test]
fn invalid_package_json_is_an_error_without_another_runner() {
    let broken = ("package.json", "{\"scripts\": {\"test\": \"vitest\"},}");
    let error = found(&[broken], None).unwrap_err().report().to_string();
    assert!(error.starts_with("package.json cannot be read"), "{error}");
    assert!(error.contains("line 1") && error.contains("--runner"), "{error}");
    assert_eq!(name(&[broken, ("go.mod", "module x\n")], None), "go test");
    assert_eq!(name(&[broken], Some("make check")), "make check");
}

#[test]
fn placeholder_test_script_is_ignored() {
    let manifest = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    assert!(matches!(found(&[("package.json", manifest)], None), Err(DetectError::Nothing(_))));
}

#[test]
fn package_script_wins_and_another_runner_can_be_requested() {
    let both = r#""devDependencies": {"vitest": "4", "jest": "30"}"#;
    let manifest = format!(r#"{{"scripts": {{"test": "jest"}}, {both}}}"#);
    let detected = found(&[("package.json", &manifest)], None).unwrap();
    assert_eq!((detected.adapter.name().as_str(), detected.others.join(" ")), ("npm test", "vitest".into()));
    assert_eq!(name(&[("package.json", &manifest)], Some("vitest")), "vitest");
    let detected = found(&[("package.json", &format!("{{{both}}}"))], None).unwrap();
    assert_eq!((detected.adapter.name().as_str(), detected.others.join(" ")), ("vitest", "jest".into()));
    let manifest = format!(r#"{{"scripts": {{"test": "vitest run && jest"}}, {both}}}"#);
    assert_eq!(name(&[("package.json", &manifest), ("pnpm-lock.yaml", "")], None), "pnpm test");
}

#[test]
fn python_tests_need_no_project_file_and_installed_ones_are_ignored() {
    let test = "import unittest\n";
    assert!(["pytest", "python -m unittest"].contains(&name(&[("test_a.py", test)], None).as_str()));
    for elsewhere in ["node_modules/x/test_a.py", "venv/lib/test_a.py"] {
        assert!(matches!(found(&[(elsewhere, test)], None), Err(DetectError::Nothing(_))), "{elsewhere}");
    }
}

#[test]
fn manifests_with_wrong_types_are_ignored() {
    for manifest in
        ["[]", "null", "7", r#"{"scripts": "vitest"}"#, r#"{"devDependencies": ["jest"]}"#, "\u{feff}{}"]
    {
        assert!(found(&[("package.json", manifest)], None).is_err(), "{manifest}");
    }
    assert!(matches!(found(&[], None), Err(DetectError::Nothing(_))));
}
