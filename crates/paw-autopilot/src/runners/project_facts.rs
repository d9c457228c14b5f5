//! Facts about a project that runner detection needs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_host::process::find_program;

use super::coverage_tools::CoverageTools;
use super::detect::requested_runner;

/// The facts about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFacts {
    /// File names in the project's root, and a few paths below it.
    pub files: BTreeSet<String>,
    /// `Cargo.toml` defines a workspace.
    pub cargo_workspace: bool,
    /// The content of `package.json`.
    pub package: Option<String>,
    /// The concatenated Python configuration files.
    pub python_config: String,
    pub python_tests: Vec<PathBuf>,
    pub python: PathBuf,
    pub has_pytest: bool,
    pub has_nextest: bool,
    /// Runners installed in the project, by absolute path.
    pub local: Vec<PathBuf>,
}

const PYTHON_CONFIGS: [&str; 7] = [
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

/// Loads the facts that the requested runner leaves open.
pub fn load_facts(root: &Path, search_path: &OsStr, requested: Option<&str>) -> ProjectFacts {
    let names = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut files: BTreeSet<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    if root.join(".config/nextest.toml").is_file() {
        files.insert(".config/nextest.toml".into());
    }
    let text = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let python = [".venv/bin/python", "venv/bin/python"].iter().map(|place| root.join(place));
    let python = python.into_iter().find(|python| python.is_file()).unwrap_or_else(|| "python3".into());
    let python_tests = python_tests(root);
    let manifest = text("Cargo.toml").unwrap_or_default();
    // Starting Python is slow, so do it only if needed.
    let tools = CoverageTools { root, search_path };
    let is_open = requested_runner(requested).is_none() && !python_tests.is_empty();
    ProjectFacts {
        cargo_workspace: manifest.lines().any(|line| line.trim_start().starts_with("[workspace")),
        package: text("package.json"),
        python_config: PYTHON_CONFIGS.iter().filter_map(|name| text(name)).collect(),
        has_pytest: is_open && !tools.python_modules(&python, &["pytest"]).is_empty(),
        python_tests,
        python,
        has_nextest: find_program("cargo-nextest", search_path).is_some(),
        local: local_programs(root),
        files,
    }
}

/// Programs installed by a package manager, here or in a parent directory.
fn local_programs(root: &Path) -> Vec<PathBuf> {
    let programs = |dir: &Path| {
        let bin = dir.join("node_modules/.bin");
        ["vitest", "jest", "mocha"].map(|name| bin.join(name))
    };
    root.ancestors().take(4).flat_map(programs).filter(|program| program.is_file()).collect()
}

/// Test files that git would track.
fn python_tests(root: &Path) -> Vec<PathBuf> {
    let is_test = |path: &Path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let stem = name.strip_suffix(".py");
        stem.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests")
    };
    let installed = ["node_modules", "venv", "site-packages", "target"];
    let walk = ignore::WalkBuilder::new(root)
        .max_depth(Some(8))
        .filter_entry(move |entry| !installed.iter().any(|name| entry.file_name() == *name))
        .build();
    let files = walk.flatten().map(ignore::DirEntry::into_path).filter(|path| is_test(path));
    let mut found: Vec<PathBuf> =
        files.filter_map(|path| path.strip_prefix(root).ok().map(Path::to_path_buf)).take(5000).collect();
    found.sort();
    found
}
