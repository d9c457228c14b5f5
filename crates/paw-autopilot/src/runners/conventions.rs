//! Language, framework and names of test files, so that new tests look like the existing ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a runner implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerConventions {
    pub language: &'static str,
    pub framework: &'static str,
    /// Used if the project has no tests yet.
    pub test_files: &'static str,
}

/// What an executor has to know about a project's tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestConventions {
    /// `JavaScript (Node.js)`
    pub language: String,
    pub framework: &'static str,
    /// `src/**/*.test.js`
    pub test_files: String,
}

impl TestConventions {
    /// `configured` is the project's own glob, `tests` are its test files.
    pub fn new(
        runner: RunnerConventions,
        configured: Option<&str>,
        tests: &[PathBuf],
        has_tsconfig: bool,
    ) -> Self {
        let test_files = configured.map(str::to_owned).or_else(|| most_common(tests));
        let test_files = test_files.unwrap_or_else(|| runner.test_files.to_owned());
        let typed = has_tsconfig || test_files.ends_with("ts") || test_files.ends_with("tsx");
        let language = if typed {
            runner.language.replace("JavaScript", "TypeScript")
        } else {
            runner.language.to_owned()
        };
        Self { language, framework: runner.framework, test_files }
    }
}

/// The pattern that most test files follow.
fn most_common(tests: &[PathBuf]) -> Option<String> {
    let mut shapes: BTreeMap<TestFileShape<'_>, (usize, bool)> = BTreeMap::new();
    for (shape, deep) in tests.iter().filter_map(|path| shape(path)) {
        let (count, is_deep) = shapes.entry(shape).or_default();
        *count += 1;
        *is_deep |= deep;
    }
    let (shape, (_, deep)) = shapes.into_iter().max_by_key(|(_, (count, _))| *count)?;
    let middle = [deep.then_some("**"), shape.has_tests_dir.then_some("__tests__")];
    let parts = [shape.first].into_iter().chain(middle).flatten().map(str::to_owned);
    Some(parts.chain([shape.name]).collect::<Vec<_>>().join("/"))
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TestFileShape<'a> {
    first: Option<&'a str>,
    has_tests_dir: bool,
    name: String,
}

/// The shape of a path, and whether it is below its first directory.
fn shape(path: &Path) -> Option<(TestFileShape<'_>, bool)> {
    let file = path.file_name()?.to_str()?;
    let (stem, ending) = file.rsplit_once('.')?;
    if matches!(stem, "__init__" | "conftest" | "mod" | "main") {
        return None;
    }
    let stem = if stem.starts_with("test_") {
        "test_*".to_owned()
    } else {
        let affixes = [".test", ".spec", "_test", "_spec", "Test", "Tests", "Spec"];
        let affix = affixes.into_iter().find(|affix| stem.ends_with(affix)).unwrap_or_default();
        format!("*{affix}")
    };
    let dirs: Vec<&str> = path.parent()?.iter().filter_map(|part| part.to_str()).collect();
    let has_tests_dir = dirs.len() > 1 && dirs.last() == Some(&"__tests__");
    let shape =
        TestFileShape { first: dirs.first().copied(), has_tests_dir, name: format!("{stem}.{ending}") };
    Some((shape, dirs.len() > 1 + usize::from(has_tests_dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: RunnerConventions = RunnerConventions {
        language: "JavaScript (Node.js)",
        framework: "vitest",
        test_files: "**/*.test.js",
    };

    fn files(tests: &[&str]) -> String {
        let tests: Vec<PathBuf> = tests.iter().map(PathBuf::from).collect();
        TestConventions::new(NODE, None, &tests, false).test_files
    }

    #[test]
    fn test_file_convention_is_that_of_most_tests() {
        assert_eq!(
            files(&["tests/test_a.py", "tests/__init__.py", "tests/util.py", "tests/test_b.py"]),
            "tests/test_*.py"
        );
        assert_eq!(files(&["src/a.test.js", "src/api/b.test.js"]), "src/**/*.test.js");
        assert_eq!(
            files(&["src/__tests__/a.test.js", "src/api/__tests__/b.test.js"]),
            "src/**/__tests__/*.test.js"
        );
        assert_eq!(files(&["x_test.go"]), "*_test.go");
        assert_eq!(files(&["tests/it/main.rs", "tests/it/log.rs"]), "tests/**/*.rs");
        assert_eq!(files(&[]), "**/*.test.js");
    }

    #[test]
    fn typescript_is_recognised_by_its_tests_or_its_configuration() {
        let language = |tests: &[PathBuf], config| TestConventions::new(NODE, None, tests, config).language;
        assert_eq!(language(&["src/a.test.ts".into()], false), "TypeScript (Node.js)");
        assert_eq!(language(&[], true), "TypeScript (Node.js)");
        assert_eq!(language(&[], false), "JavaScript (Node.js)");
    }
}
