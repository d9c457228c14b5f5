//! The scope of a commit: the module of most of its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::evidence::{FileRules, SourceKind};
use crate::tasks::TagName;
use crate::tasks::tag::dashed;

/// Directories that do not name a module.
const SHELLS: [&str; 18] = [
    "src",
    "lib",
    "app",
    "apps",
    "packages",
    "crates",
    "internal",
    "pkg",
    "cmd",
    "source",
    "tests",
    "test",
    "__tests__",
    "spec",
    "e2e",
    "it",
    "main",
    "java",
];

/// The configured scope, else the module of more than half of the changed files (all, then without tests), else the
/// tag.
pub fn scope(configured: Option<&str>, rules: &FileRules, changed: &[PathBuf], tag: &TagName) -> String {
    let clean = |text: &str| dashed(text, |c| c.is_alphanumeric() || c == '_');
    if let Some(configured) = configured.map(clean).filter(|configured| !configured.is_empty()) {
        return configured;
    }
    let of = |kinds: &[SourceKind]| -> Vec<String> {
        let relevant = changed.iter().filter(|path| kinds.contains(&rules.kind(path)));
        relevant.filter_map(|path| module(path)).collect()
    };
    let shared = most(&of(&[SourceKind::Production, SourceKind::Test]))
        .or_else(|| most(&of(&[SourceKind::Production])));
    let shared = shared.map(|module| clean(&module)).filter(|scope| !scope.is_empty());
    shared.unwrap_or_else(|| clean(tag.as_str()))
}

/// The value of more than half of them.
fn most(modules: &[String]) -> Option<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for module in modules {
        *counts.entry(module).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| count * 2 > modules.len()).map(|(module, _)| module.clone())
}

/// The first directory that names a module, else the file's stem without test affixes.
fn module(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let file = parts.pop()?;
    if let Some(dir) = parts.into_iter().find(|part| !SHELLS.contains(part)) {
        return Some(dir.to_owned());
    }
    let stem = file.split('.').find(|part| !part.is_empty())?;
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let stem = ["_test", "_tests", "_spec", "Test", "Tests"]
        .iter()
        .find_map(|end| stem.strip_suffix(end))
        .unwrap_or(stem);
    Some(stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(configured: Option<&str>, files: &[&str]) -> String {
        let files: Vec<_> = files.iter().map(PathBuf::from).collect();
        scope(configured, &FileRules::default(), &files, &TagName::new("analytics").unwrap())
    }

    #[test]
    fn scope_is_configured_else_module_else_tag() {
        assert_eq!(of(Some("My Scope"), &["src/api/a.js"]), "my-scope");
        assert_eq!(
            of(None, &["src/api/metrics.js", "src/api/__tests__/metrics.test.js", "src/x/y.js"]),
            "api"
        );
        assert_eq!(of(None, &["src/metrics.js", "tests/metrics.test.js"]), "metrics");
        assert_eq!(of(None, &["metrics.py", "test_metrics.py"]), "metrics");
        assert_eq!(of(None, &["metrics/schema.py", "tests/test_schema.py"]), "metrics");
        assert_eq!(
            of(None, &["crates/paw-broker/src/log.rs", "crates/paw-broker/tests/it/log.rs"]),
            "paw-broker"
        );
        assert_eq!(of(None, &["src/a/x.js", "src/b/y.js"]), "analytics");
        assert_eq!(of(None, &[".taskmaster/tasks/tasks.json", "Cargo.lock"]), "analytics");
        assert_eq!(of(Some("!!"), &[]), "analytics");
    }
}
