//! What a changed file is: a test, a list of dependencies, a setting of the test runner, ours, or the product itself.

use paw_core::paths::{CheckoutDir, TaskmasterDir};
use std::path::Path;

use globset::{Glob, GlobMatcher};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Test,
    /// Names dependencies, and sometimes decides which tests run.
    Manifest,
    /// Versions of dependencies, written by a tool.
    LockFile,
    /// Decides which tests run and how.
    Harness,
    /// What git-paw and its tasks keep in the repository.
    Ours,
    /// The list of tasks itself.
    Tasks,
    Production,
}

/// How files are told apart in one project.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pattern: Option<GlobMatcher>,
    /// The command line that is the project's tests, where nothing better is known.
    line: Option<String>,
}

impl Rules {
    /// With a project's own pattern for test files. One that cannot be read counts as none.
    pub fn with_pattern(pattern: Option<&str>) -> Self {
        let matcher = pattern.and_then(|pattern| Glob::new(pattern).ok()).map(|glob| glob.compile_matcher());
        Self { pattern: matcher, line: None }
    }

    /// The same for a project whose tests are a command line.
    #[must_use]
    pub fn with_line(self, line: Option<&str>) -> Self {
        Self { line: line.map(str::to_owned), ..self }
    }

    fn is_run_by_line(&self, path: &Path, name: &str) -> bool {
        self.line().is_some_and(|line| runs(line, path)) && !is_test(path, name)
    }

    pub(super) fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    pub fn kind(&self, path: &Path) -> Kind {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.ends_with(TaskmasterDir::TASKS) || path == Path::new(TaskmasterDir::OLD_TASKS) {
            Kind::Tasks
        } else if is_settings(path) {
            // They say how tests are run and what is enough.
            Kind::Harness
        } else if path.components().any(|part| is_ours(part.as_os_str().to_str().unwrap_or_default())) {
            Kind::Ours
        } else if is_harness(path, name) || self.is_run_by_line(path, name) {
            Kind::Harness
        } else if is_lock_file(name) {
            Kind::LockFile
        } else if is_manifest(name) {
            Kind::Manifest
        } else if is_test(path, name) || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(path)) {
            Kind::Test
        } else {
            Kind::Production
        }
    }
}

fn is_settings(path: &Path) -> bool {
    path.ends_with(TaskmasterDir::CONFIG)
        || path.ends_with(CheckoutDir::CONFIG)
        || path == Path::new(TaskmasterDir::OLD_CONFIG)
}

fn is_ours(part: &str) -> bool {
    matches!(part, TaskmasterDir::NAME | CheckoutDir::NAME)
}

fn is_lock_file(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "Cargo.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
        "go.sum",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
    ];
    NAMES.contains(&name)
}

fn is_manifest(name: &str) -> bool {
    matches!(name, "Cargo.toml" | "package.json" | "pyproject.toml" | "go.mod" | "setup.cfg")
        || (name.starts_with("requirements") && has_ending(name, &["txt"]))
}

fn is_harness(path: &Path, name: &str) -> bool {
    const NAMES: [&str; 6] =
        ["pytest.ini", ".pytest.ini", "tox.ini", "nextest.toml", ".coveragerc", "bunfig.toml"];
    const STEMS: [&str; 7] = [
        "jest.config.",
        "vitest.config.",
        "vitest.workspace.",
        "vite.config.",
        ".mocharc.",
        "karma.conf.",
        "playwright.config.",
    ];
    NAMES.contains(&name)
        || STEMS.iter().any(|stem| name.starts_with(stem))
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
}

fn is_test(path: &Path, name: &str) -> bool {
    const DIRS: [&str; 9] =
        ["tests", "test", "__tests__", "spec", "testdata", "__mocks__", "__snapshots__", "snapshots", "e2e"];
    let in_test_dir = path.parent().is_some_and(|dir| {
        dir.components().any(|part| part.as_os_str().to_str().is_some_and(|part| DIRS.contains(&part)))
    });
    let stem = name.split('.').next().unwrap_or_default();
    let named = stem.starts_with("test_")
        || ["_test", "_tests", "_spec", "Test", "Tests", "Spec"].iter().any(|end| stem.ends_with(end))
        || name.contains(".test.")
        || name.contains(".spec.")
        || name == "conftest.py"
        || name == "tests.rs"
        || has_ending(name, &["snap"]);
    in_test_dir || named
}

/// Whether a command line names a file that only runs others: a script of a shell, or one without an ending.
fn runs(line: &str, path: &Path) -> bool {
    let is_script = match path.extension() {
        Some(_) => has_ending(path.to_str().unwrap_or_default(), &["sh", "bash", "zsh", "mk"]),
        None => true,
    };
    let named = |word: &str| word.contains(['/', '.']) && path.ends_with(word.trim_start_matches("./"));
    is_script && line.split(|c: char| c.is_whitespace() || ";&|()".contains(c)).any(named)
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    Path::new(name).extension().and_then(|end| end.to_str()).is_some_and(|end| endings.contains(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_place_or_name_in_many_languages() {
        let rules = Rules::default();
        for path in [
            "tests/it/main.rs",
            "crates/a/tests/x.rs",
            "src/name/tests.rs",
            "src/api/__tests__/metrics.test.js",
            "src/a.spec.ts",
            "pkg/sum_test.go",
            "test_a.py",
            "app/tests/conftest.py",
            "src/__snapshots__/a.snap",
            "src/FooTest.java",
        ] {
            assert_eq!(rules.kind(Path::new(path)), Kind::Test, "{path}");
        }
        for path in
            ["src/lib.rs", "src/testing.rs", "contest.py", "src/latest.js", "README.md", "src/attest/x.go"]
        {
            assert_eq!(rules.kind(Path::new(path)), Kind::Production, "{path}");
        }
    }

    #[test]
    fn settings_lists_and_our_own_files_are_told_apart() {
        let rules = Rules::with_pattern(Some("checks/**/*.chk"));
        for (path, kind) in [
            ("Cargo.toml", Kind::Manifest),
            ("web/package.json", Kind::Manifest),
            ("requirements-dev.txt", Kind::Manifest),
            ("Cargo.lock", Kind::LockFile),
            ("vitest.config.ts", Kind::Harness),
            ("tests/pytest.ini", Kind::Harness),
            (".cargo/config.toml", Kind::Harness),
            (".config/nextest.toml", Kind::Harness),
            (".taskmaster/tasks/tasks.json", Kind::Tasks),
            (".taskmaster/reports/x", Kind::Ours),
            (".taskmaster/state.json", Kind::Ours),
            (".git-paw/scripts/x", Kind::Ours),
            (".git-paw/config.toml", Kind::Harness),
            (".taskmaster/config.json", Kind::Harness),
            ("checks/a/b.chk", Kind::Test),
        ] {
            assert_eq!(rules.kind(Path::new(path)), kind, "{path}");
        }
        let by_line =
            Rules::default().with_line(Some("./ci/run.sh && sh ./all; python3 tests/test_a.py; node app.js"));
        for (path, kind) in [
            ("web/ci/run.sh", Kind::Harness),
            ("all", Kind::Harness),
            ("other.sh", Kind::Production),
            ("app.js", Kind::Production),
            ("tests/test_a.py", Kind::Test),
        ] {
            assert_eq!(by_line.kind(Path::new(path)), kind, "{path}");
        }
        assert_eq!(Rules::with_pattern(Some("[")).kind(Path::new("a.rs")), Kind::Production);
    }
}
