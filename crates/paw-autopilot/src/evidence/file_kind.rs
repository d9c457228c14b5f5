//! Classifies changed files: test, manifest, test configuration, git paw's own file, or production code.

use paw_core::paths::{CheckoutDir, TaskmasterDir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};

use super::FileChange;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    Test,
    /// Lists dependencies, and sometimes decides which tests run.
    Manifest,
    /// Dependency versions, written by a tool.
    LockFile,
    /// Decides which tests run, and how.
    TestConfig,
    /// Files of git paw and `.taskmaster/`.
    OwnFile,
    /// tasks.json.
    TaskFile,
    Production,
}

/// The classification rules of a project.
#[derive(Debug, Clone, Default)]
pub struct FileRules {
    pattern: Option<GlobMatcher>,
    /// The test command of a generic runner.
    line: Option<String>,
    /// Protected files that the user allowed, each with a digest of its content.
    allowed: BTreeMap<PathBuf, u64>,
}

impl FileRules {
    /// Rules with a project's own glob for test files. An invalid glob is ignored.
    pub fn with_pattern(pattern: Option<&str>) -> Self {
        let matcher = pattern.and_then(|pattern| Glob::new(pattern).ok()).map(|glob| glob.compile_matcher());
        Self { pattern: matcher, ..Self::default() }
    }

    /// Adds the test command of a generic runner.
    #[must_use]
    pub fn with_line(self, line: Option<&str>) -> Self {
        Self { line: line.map(str::to_owned), ..self }
    }

    /// Adds protected files that the user allowed, with the content they had then.
    #[must_use]
    pub fn with_allowed(self, allowed: BTreeMap<PathBuf, u64>) -> Self {
        Self { allowed, ..self }
    }

    /// Whether the user allowed this change.
    pub fn allows(&self, change: &FileChange) -> bool {
        self.allowed.get(&change.path) == Some(&change.digest())
    }

    fn is_run_by_line(&self, path: &Path, name: &str) -> bool {
        self.line().is_some_and(|line| runs(line, path)) && !is_test(path, name)
    }

    /// Whether the tests of a file may run alone: a project's own glob limits them.
    pub fn is_targeted(&self, path: &Path) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(path))
    }

    pub(super) fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    pub fn kind(&self, path: &Path) -> SourceKind {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.ends_with(TaskmasterDir::TASKS) || path == Path::new(TaskmasterDir::OLD_TASKS) {
            SourceKind::TaskFile
        } else if is_settings(path) {
            // They decide how tests run and which coverage is required.
            SourceKind::TestConfig
        } else if path.components().any(|part| is_ours(part.as_os_str().to_str().unwrap_or_default())) {
            SourceKind::OwnFile
        } else if is_test_config(path, name) || self.is_run_by_line(path, name) {
            SourceKind::TestConfig
        } else if is_lock_file(name) {
            SourceKind::LockFile
        } else if is_manifest(name) {
            SourceKind::Manifest
        } else if is_test(path, name) || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(path)) {
            SourceKind::Test
        } else {
            SourceKind::Production
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

fn is_test_config(path: &Path, name: &str) -> bool {
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

/// Whether a command runs a script: a shell script, or a file without an extension.
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
    fn test_files_are_recognised_by_path_in_many_languages() {
        let rules = FileRules::default();
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
            assert_eq!(rules.kind(Path::new(path)), SourceKind::Test, "{path}");
        }
        for path in
            ["src/lib.rs", "src/testing.rs", "contest.py", "src/latest.js", "README.md", "src/attest/x.go"]
        {
            assert_eq!(rules.kind(Path::new(path)), SourceKind::Production, "{path}");
        }
    }

    #[test]
    fn manifests_config_and_own_files_are_classified() {
        let rules = FileRules::with_pattern(Some("checks/**/*.chk"));
        for (path, kind) in [
            ("Cargo.toml", SourceKind::Manifest),
            ("web/package.json", SourceKind::Manifest),
            ("requirements-dev.txt", SourceKind::Manifest),
            ("Cargo.lock", SourceKind::LockFile),
            ("vitest.config.ts", SourceKind::TestConfig),
            ("tests/pytest.ini", SourceKind::TestConfig),
            (".cargo/config.toml", SourceKind::TestConfig),
            (".config/nextest.toml", SourceKind::TestConfig),
            (".taskmaster/tasks/tasks.json", SourceKind::TaskFile),
            (".taskmaster/reports/x", SourceKind::OwnFile),
            (".taskmaster/state.json", SourceKind::OwnFile),
            (".git-paw/scripts/x", SourceKind::OwnFile),
            (".git-paw/config.toml", SourceKind::TestConfig),
            (".taskmaster/config.json", SourceKind::TestConfig),
            ("checks/a/b.chk", SourceKind::Test),
        ] {
            assert_eq!(rules.kind(Path::new(path)), kind, "{path}");
        }
        let by_line = FileRules::default()
            .with_line(Some("./ci/run.sh && sh ./all; python3 tests/test_a.py; node app.js"));
        for (path, kind) in [
            ("web/ci/run.sh", SourceKind::TestConfig),
            ("all", SourceKind::TestConfig),
            ("other.sh", SourceKind::Production),
            ("app.js", SourceKind::Production),
            ("tests/test_a.py", SourceKind::Test),
        ] {
            assert_eq!(by_line.kind(Path::new(path)), kind, "{path}");
        }
        assert_eq!(FileRules::with_pattern(Some("[")).kind(Path::new("a.rs")), SourceKind::Production);
    }
}
