//! Production code that names the test runner: it can recognise a test run, or replace the runner's assertions.

use std::path::Path;

use super::FileChange;
use super::file_kind::FileRules;
use super::test_code::{normalize, split_tests};

const NAMES: [&str; 22] = [
    "unittest",
    "pytest",
    "PYTEST_CURRENT_TEST",
    "_pytest",
    "JEST_WORKER_ID",
    "VITEST",
    "NODE_TEST_CONTEXT",
    "globalThis.expect",
    "global.expect",
    "globalThis.describe",
    "MOCHA",
    "NEXTEST",
    "CARGO_TARGET_TMPDIR",
    "cfg!(test)",
    "cfg(not(test))",
    "cfg_attr(test",
    "macro_rules!assert",
    "macro_rules!panic",
    "testing.Testing()",
    "\"testing\"",
    "sys.argv[1]",
    "os._exit(",
];

/// The name of a test runner that a change adds to production code.
pub(super) fn find_added_name(rules: &FileRules, change: &FileChange) -> Option<&'static str> {
    if rules.allows(change) {
        return None;
    }
    let code = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        normalized(&change.path, &split_tests(rules, &change.path, text).1)
    };
    let (before, after) = (code(&change.before), code(&change.after));
    NAMES.into_iter().find(|name| after.matches(name).count() > before.matches(name).count())
}

/// Without comments and spaces, but with imports, which name runners most often.
fn normalized(path: &Path, text: &str) -> String {
    let imports = text.lines().filter(|line| super::test_code::is_import_line(line.trim()));
    let imports: String = imports.flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect();
    normalize(path, text) + &imports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_added_names_in_production_code_count() {
        let found = |path: &str, before: &str, after: &str| {
            let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
            find_added_name(
                &FileRules::default(),
                &FileChange { path: path.into(), before, after, ..FileChange::default() },
            )
        };
        assert_eq!(found("app.py", "", "import unittest\n"), Some("unittest"));
        assert_eq!(found("app.py", "", "# uses unittest\nx = 1\n"), None);
        assert_eq!(found("app.py", "import pytest\n", "import pytest\nx = 1\n"), None);
        assert_eq!(found("src/a.rs", "", "macro_rules! assert_eq { () => {} }"), Some("macro_rules!assert"));
        assert_eq!(
            found("src/a.rs", "", "#[cfg(test)]\nmod tests { fn f() { std::env::var(\"NEXTEST\"); } }"),
            None
        );
        assert_eq!(found("src/a.js", "", "if (process.env.VITEST) {}"), Some("VITEST"));
    }
}
