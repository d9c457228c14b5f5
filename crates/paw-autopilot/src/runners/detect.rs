//! Which test runner a project has: first the facts, then the decision.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_host::process::{Command, find_program};

use super::package::{Manager, PackageRunner, find_runner};
use super::{Adapter, Bun, Cargo, Generic, Go, Jest, JestKind, Mocha, Nextest, NodeTest, Pytest, Unittest};

/// Everything the decision needs to know about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Names of files at the project's root, and the few others that are asked for by path.
    pub files: BTreeSet<String>,
    /// `Cargo.toml` is that of a workspace.
    pub cargo_workspace: bool,
    /// The text of `package.json`.
    pub package: Option<String>,
    /// The texts of Python's configuration files, one after the other.
    pub python_config: String,
    pub python_tests: Vec<PathBuf>,
    pub python: PathBuf,
    pub has_pytest: bool,
    pub has_nextest: bool,
    /// Runners that the project has installed, by their whole path.
    pub local: Vec<PathBuf>,
}

/// A decision, with what else it could have been.
#[derive(Debug)]
pub struct Detected {
    pub adapter: Box<dyn Adapter>,
    pub others: Vec<String>,
    /// It runs a command line from the project's own configuration: the user has to approve it.
    pub needs_trust: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    #[error(
        "no tests found: no Cargo.toml, package.json with a test script, Python tests or go.mod in {} \
         (name a command: --runner \"make check\", or test.runner in .taskmaster/config.json)", .0.display()
    )]
    Nothing(PathBuf),
    #[error("the project has no {0}, which was asked for")]
    NotThis(String),
}

const KNOWN: [&str; 10] =
    ["cargo", "nextest", "vitest", "jest", "mocha", "node", "bun", "pytest", "unittest", "go"];
const PYTHON_CONFIGS: [&str; 7] = [
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

/// Decides. A wish is the name of a runner we know, a package manager's `test`, or a command line of the user's.
pub fn detect(facts: &Facts, root: &Path, wish: Option<&str>) -> Result<Detected, DetectError> {
    let wish = wish.map(str::trim).filter(|wish| !wish.is_empty() && *wish != "auto");
    let mut found = candidates(facts);
    let Some(wish) = wish else {
        if found.is_empty() {
            return Err(DetectError::Nothing(root.to_path_buf()));
        }
        let first = found.remove(0);
        return Ok(Detected {
            adapter: first.1,
            others: found.into_iter().map(|(_, adapter)| adapter.name()).collect(),
            needs_trust: false,
        });
    };
    let is_wished = |(name, adapter): &(&str, Box<dyn Adapter>)| *name == wish || adapter.name() == wish;
    if let Some(at) = found.iter().position(is_wished) {
        return Ok(Detected { adapter: found.remove(at).1, others: Vec::new(), needs_trust: false });
    }
    let adapter: Box<dyn Adapter> = match wish {
        "cargo" if facts.files.contains("Cargo.toml") => Box::new(Cargo { workspace: facts.cargo_workspace }),
        "nextest" if facts.files.contains("Cargo.toml") => {
            Box::new(Nextest { workspace: facts.cargo_workspace })
        }
        "pytest" => Box::new(Pytest { python: facts.python.clone() }),
        "unittest" => Box::new(Unittest { python: facts.python.clone() }),
        "node" => Box::new(NodeTest { args: Vec::new(), shown: "node --test".into() }),
        known if KNOWN.contains(&known) => return Err(DetectError::NotThis(known.to_owned())),
        line => {
            let adapter = Box::new(Generic { line: line.to_owned() });
            return Ok(Detected { adapter, others: Vec::new(), needs_trust: true });
        }
    };
    Ok(Detected { adapter, others: Vec::new(), needs_trust: false })
}

/// Every runner the project could mean, the likeliest first.
fn candidates(facts: &Facts) -> Vec<(&'static str, Box<dyn Adapter>)> {
    let mut found: Vec<(&'static str, Box<dyn Adapter>)> = Vec::new();
    if facts.files.contains("Cargo.toml") {
        if facts.has_nextest && facts.files.contains(".config/nextest.toml") {
            found.push(("nextest", Box::new(Nextest { workspace: facts.cargo_workspace })));
        }
        found.push(("cargo", Box::new(Cargo { workspace: facts.cargo_workspace })));
    }
    found.extend(package(facts));
    if !facts.python_tests.is_empty() {
        let configured = facts.python_config.contains("pytest") || facts.files.contains("conftest.py");
        if configured || facts.has_pytest {
            found.push(("pytest", Box::new(Pytest { python: facts.python.clone() })));
        } else {
            found.push(("unittest", Box::new(Unittest { python: facts.python.clone() })));
        }
    }
    if facts.files.contains("go.mod") {
        found.push(("go", Box::new(Go)));
    }
    found
}

fn package(facts: &Facts) -> Option<(&'static str, Box<dyn Adapter>)> {
    let manager = Manager::of_files(|name| facts.files.contains(name));
    let local = |name: &str| {
        let program = facts.local.iter().find(|path| path.file_name() == Some(OsStr::new(name)));
        program.map(|path| path.display().to_string())
    };
    let shown = manager.test_command().to_owned();
    Some(match find_runner(facts.package.as_deref()?, manager, local)? {
        PackageRunner::Vitest(tool) => ("vitest", Box::new(Jest { kind: JestKind::Vitest, tool })),
        PackageRunner::Jest(tool) => ("jest", Box::new(Jest { kind: JestKind::Jest, tool })),
        PackageRunner::Mocha(tool) => ("mocha", Box::new(Mocha { tool })),
        PackageRunner::Node(args) => ("node", Box::new(NodeTest { args, shown })),
        PackageRunner::Bun => ("bun", Box::new(Bun)),
        PackageRunner::Script(line) => ("script", Box::new(Generic { line })),
    })
}

/// Looks at a project.
pub fn gather(root: &Path, search_path: &OsStr) -> Facts {
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
    Facts {
        cargo_workspace: manifest.lines().any(|line| line.trim_start().starts_with("[workspace")),
        package: text("package.json"),
        python_config: PYTHON_CONFIGS.iter().filter_map(|name| text(name)).collect(),
        has_pytest: !python_tests.is_empty() && can_import_pytest(&python, root),
        python_tests,
        python,
        has_nextest: find_program("cargo-nextest", search_path).is_some(),
        local: local_programs(root),
        files,
    }
}

fn can_import_pytest(python: &Path, root: &Path) -> bool {
    let question = Command::new(python).args(["-c", "import pytest"]).dir(root).harmless_environment();
    question.capture().is_ok_and(|output| output.exit.success())
}

/// Programs a package manager has installed here or above, as in a workspace.
fn local_programs(root: &Path) -> Vec<PathBuf> {
    let programs = |dir: &Path| {
        let bin = dir.join("node_modules/.bin");
        ["vitest", "jest", "mocha"].map(|name| bin.join(name))
    };
    root.ancestors().take(4).flat_map(programs).filter(|program| program.is_file()).collect()
}

/// Files that look like tests, as far as git would track them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(files: &[&str]) -> Facts {
        let files = files.iter().map(ToString::to_string).collect();
        Facts { files, python: "python3".into(), ..Facts::default() }
    }

    fn found(facts: &Facts, wish: Option<&str>) -> Result<String, DetectError> {
        detect(facts, Path::new("/app"), wish).map(|found| found.adapter.name())
    }

    #[test]
    fn every_kind_of_project_is_recognised() {
        assert_eq!(found(&facts(&["Cargo.toml"]), None).unwrap(), "cargo test");
        assert_eq!(found(&facts(&["go.mod"]), None).unwrap(), "go test");
        let vitest = r#"{"scripts": {"test": "vitest"}}"#;
        let node =
            |text: &str, lock: &str| Facts { package: Some(text.into()), ..facts(&["package.json", lock]) };
        assert_eq!(found(&node(vitest, "pnpm-lock.yaml"), None).unwrap(), "pnpm test");
        assert_eq!(found(&node(r#"{"scripts": {"test": "node --test"}}"#, ""), None).unwrap(), "npm test");
        assert_eq!(
            found(&node(r#"{"scripts": {"test": "a && b"}}"#, "yarn.lock"), None).unwrap(),
            "yarn test"
        );
        let bare = Facts { python_tests: vec!["test_a.py".into()], ..facts(&["test_a.py"]) };
        assert_eq!(found(&bare, None).unwrap(), "python -m unittest");
        assert_eq!(found(&Facts { has_pytest: true, ..bare.clone() }, None).unwrap(), "pytest");
        let configured = Facts { python_config: "[tool.pytest.ini_options]".into(), ..bare };
        assert_eq!(found(&configured, None).unwrap(), "pytest");
    }

    #[test]
    fn nextest_is_used_where_the_project_and_the_machine_have_it() {
        let both = Facts { has_nextest: true, ..facts(&["Cargo.toml", ".config/nextest.toml"]) };
        assert_eq!(found(&both, None).unwrap(), "cargo nextest run");
        assert_eq!(found(&Facts { has_nextest: false, ..both.clone() }, None).unwrap(), "cargo test");
        assert_eq!(found(&both, Some("cargo")).unwrap(), "cargo test");
    }

    #[test]
    fn a_project_of_several_kinds_says_what_else_it_could_have_been() {
        let detected = detect(&facts(&["Cargo.toml", "go.mod"]), Path::new("/app"), None).unwrap();
        assert_eq!(detected.others, ["go test"]);
        assert_eq!(found(&facts(&["Cargo.toml", "go.mod"]), Some("go test")).unwrap(), "go test");
    }

    #[test]
    fn a_command_of_the_users_own_needs_trust_and_a_runner_that_is_not_there_is_refused() {
        let empty = facts(&[]);
        let detected = detect(&empty, Path::new("/app"), Some("make check")).unwrap();
        assert_eq!((detected.adapter.name().as_str(), detected.needs_trust), ("make check", true));
        assert_eq!(found(&empty, Some("vitest")), Err(DetectError::NotThis("vitest".into())));
        assert_eq!(found(&empty, Some("auto")), Err(DetectError::Nothing("/app".into())));
    }
}
