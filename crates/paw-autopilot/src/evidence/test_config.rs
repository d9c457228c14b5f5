//! Finds settings that decide which tests run, in files that also contain other settings.

use std::path::Path;

use serde_json::{Map, Value};

use super::FileChange;
use super::file_kind::{FileRules, SourceKind};
use super::test_recipes::{changes_recipes, has_recipes, scripts};

/// Whether a change could make fewer tests run. Dependencies may change.
pub fn changes_test_config(rules: &FileRules, change: &FileChange) -> bool {
    if rules.allows(change) {
        return false;
    }
    match rules.kind(&change.path) {
        SourceKind::TestConfig => true,
        SourceKind::Manifest => {
            settings(rules, &change.path, change.before.as_deref())
                != settings(rules, &change.path, change.after.as_deref())
        }
        SourceKind::Production => match (rules.line(), &change.before) {
            (Some(line), Some(before)) if has_recipes(&change.path) => {
                changes_recipes(line, before, change.after.as_deref().unwrap_or_default())
            }
            _ => false,
        },
        SourceKind::Test | SourceKind::LockFile | SourceKind::OwnFile | SourceKind::TaskFile => false,
    }
}

/// Whether only the test dependencies of a manifest changed.
pub fn changes_only_test_dependencies(change: &FileChange) -> bool {
    let rest = |text: Option<&str>| {
        let mut value = read(&change.path, text.unwrap_or_default());
        if let Some(table) = value.as_object_mut() {
            table.remove("dev-dependencies");
            table.remove("devDependencies");
        }
        value
    };
    let name = change.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name {
        "Cargo.toml" | "package.json" => rest(change.before.as_deref()) == rest(change.after.as_deref()),
        "go.mod" => true,
        name => name.starts_with("requirements") && (name.contains("dev") || name.contains("test")),
    }
}

/// The test settings of a manifest.
fn settings(rules: &FileRules, path: &Path, text: Option<&str>) -> Vec<Value> {
    const PLACES: [&str; 15] = [
        "/jest",
        "/vitest",
        "/mocha",
        "/package/autotests",
        "/lib/test",
        "/lib/doctest",
        "/test",
        "/tool/pytest",
        "/profile",
        "/babel",
        "/patch",
        "/package/build",
        "/lib/harness",
        "/bench",
        "/tool/coverage",
    ];
    let value = read(path, text.unwrap_or_default());
    let mut settings: Vec<Value> =
        PLACES.iter().map(|place| value.pointer(place).cloned().unwrap_or_default()).collect();
    settings.push(scripts(&value, rules.line()).into_iter().collect::<Map<String, Value>>().into());
    // setup.cfg is not parsed; compare the section as text.
    if path.ends_with("setup.cfg") {
        let section = text.unwrap_or_default().split("\n[").find(|section| section.contains("pytest]"));
        settings.push(section.map(str::to_owned).into());
    }
    settings
}

/// Parses a manifest. One that cannot be parsed is compared as text.
fn read(path: &Path, text: &str) -> Value {
    let as_it_is = || Value::String(text.to_owned());
    match path.extension().and_then(|end| end.to_str()) {
        Some("json") => serde_json::from_str(text).unwrap_or_else(|_| as_it_is()),
        Some("toml") => toml::from_str(text).unwrap_or_else(|_| as_it_is()),
        _ => as_it_is(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: &str, after: &str) -> FileChange {
        let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
        FileChange { path: path.into(), before, after, ..FileChange::default() }
    }

    #[test]
    fn changed_test_script_is_test_config_and_a_dependency_is_not() {
        let rules = FileRules::default();
        let package = r#"{"scripts": {"test": "vitest", "x": "y"}, "dependencies": {}}"#;
        let changes = |after: &str| changes_test_config(&rules, &change("package.json", package, after));
        assert!(changes(&package.replace("vitest", "true")));
        assert!(changes("{") && changes(r#"{"jest": {"testMatch": []}, "scripts": {"test": "vitest"}}"#));
        assert!(!changes(&package.replace("{}", r#"{"a": "1"}"#)));
        let cargo = "[package]\nname = \"a\"\n";
        assert!(changes_test_config(
            &rules,
            &change("Cargo.toml", cargo, &format!("{cargo}autotests = false\n"))
        ));
        assert!(changes_test_config(
            &rules,
            &change("Cargo.toml", cargo, &format!("{cargo}[lib]\ntest = false\n"))
        ));
        assert!(!changes_test_config(
            &rules,
            &change("Cargo.toml", cargo, &format!("{cargo}[dependencies]\nb = \"1\"\n"))
        ));
        assert!(changes_test_config(&rules, &change("pytest.ini", "", "[pytest]\naddopts = -k nothing")));
        assert!(changes_test_config(
            &rules,
            &change("setup.cfg", "[x]\n", "[x]\n[tool:pytest]\naddopts = -x\n")
        ));
    }

    #[test]
    fn scripts_and_recipes_of_the_test_command_are_test_config() {
        let rules = FileRules::default().with_line(Some("npm test"));
        let package = r#"{"scripts": {"test": "npm run unit", "unit": "vitest", "dev": "vite"}}"#;
        let changes = |from: &str, to: &str| {
            changes_test_config(&rules, &change("package.json", package, &package.replace(from, to)))
        };
        assert!(changes(r#""vitest""#, r#""true""#) && changes("npm run unit", "true"));
        assert!(changes(r#""dev""#, r#""pretest""#));
        assert!(!changes(r#""vite""#, r#""vite --port 1""#) && !changes(r#""dev""#, r#""start""#));
        let makefile = "test:\n\t./run\n";
        let made = |after| changes_test_config(&rules, &change("Makefile", makefile, after));
        assert!(made("test:\n\ttrue\n") && made("") && !made("test:\n\t./run\nother:\n\tx\n"));
        // With a known runner, a Makefile does not matter.
        assert!(!changes_test_config(&FileRules::default(), &change("Makefile", makefile, "")));
    }

    #[test]
    fn test_dependencies_are_recognised() {
        let cargo = "[package]\nname = \"a\"\n";
        let with =
            |section: &str| change("Cargo.toml", cargo, &format!("{cargo}[{section}]\nproptest = \"1\"\n"));
        assert!(changes_only_test_dependencies(&with("dev-dependencies")));
        assert!(!changes_only_test_dependencies(&with("dependencies")));
        assert!(changes_only_test_dependencies(&change("requirements-dev.txt", "", "pytest")));
        assert!(!changes_only_test_dependencies(&change("requirements.txt", "", "flask")));
    }
}
