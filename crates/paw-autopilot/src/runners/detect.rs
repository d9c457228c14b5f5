//! Decides which test runner a project uses. Pure; `project_facts` loads the facts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};

pub use super::project_facts::{ProjectFacts, load_facts};

use super::package::{PackageManager, PackageRunner, find_runners};
use super::script::TestScript;
use super::{
    Bun, Cargo, Generic, Go, Jest, JestKind, Mocha, Nextest, NodeTest, Pytest, TestRunner, Unittest,
};

/// The chosen runner and the alternatives.
#[derive(Debug)]
pub struct DetectedRunner {
    pub adapter: Box<dyn TestRunner>,
    pub others: Vec<String>,
    /// It runs a command from the project's configuration, which the user must approve.
    pub needs_trust: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    #[error(
        "no tests found: no Cargo.toml, package.json with a test script, Python tests or go.mod in {}",
        .0.display()
    )]
    Nothing(PathBuf),
    #[error("package.json cannot be read, so git paw cannot tell how the tests are run: {0}")]
    Manifest(String),
    #[error("the project has no {0}, which was requested")]
    NotThis(String),
}

impl Diagnostic for DetectError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Nothing(_) => report
                .hint("name a command: --runner \"make check\", or test.runner in .taskmaster/config.json"),
            Self::Manifest(_) => report.hint("fix it, or name a command: --runner \"npm test\""),
            Self::NotThis(_) => report,
        }
    }
}

const KNOWN: [&str; 10] =
    ["cargo", "nextest", "vitest", "jest", "mocha", "node", "bun", "pytest", "unittest", "go"];
/// Chooses the runner. `requested` is a known runner, a package manager's `test`, or a shell command.
pub fn detect(
    facts: &ProjectFacts,
    root: &Path,
    requested: Option<&str>,
) -> Result<DetectedRunner, DetectError> {
    let requested = requested_runner(requested);
    let mut found = candidates(facts);
    let Some(requested) = requested else {
        if found.is_empty() {
            let broken = package(facts).err().map(|error| DetectError::Manifest(error.to_string()));
            return Err(broken.unwrap_or_else(|| DetectError::Nothing(root.to_path_buf())));
        }
        let first = found.remove(0);
        return Ok(DetectedRunner {
            adapter: first.1,
            others: found.into_iter().map(|(_, adapter)| adapter.name()).collect(),
            needs_trust: false,
        });
    };
    let is_requested =
        |(name, adapter): &(&str, Box<dyn TestRunner>)| *name == requested || adapter.name() == requested;
    if let Some(at) = found.iter().position(is_requested) {
        return Ok(DetectedRunner { adapter: found.remove(at).1, others: Vec::new(), needs_trust: false });
    }
    let adapter: Box<dyn TestRunner> = match requested {
        "cargo" if facts.files.contains("Cargo.toml") => Box::new(Cargo { workspace: facts.cargo_workspace }),
        "nextest" if facts.files.contains("Cargo.toml") => {
            Box::new(Nextest { workspace: facts.cargo_workspace })
        }
        "pytest" => Box::new(Pytest { python: facts.python.clone() }),
        "unittest" => Box::new(Unittest { python: facts.python.clone() }),
        "node" => Box::new(NodeTest { script: TestScript::default(), shown: "node --test".into() }),
        known if KNOWN.contains(&known) => return Err(DetectError::NotThis(known.to_owned())),
        line => {
            let adapter = Box::new(Generic { line: line.to_owned() });
            return Ok(DetectedRunner { adapter, others: Vec::new(), needs_trust: true });
        }
    };
    Ok(DetectedRunner { adapter, others: Vec::new(), needs_trust: false })
}

/// `auto` means no request.
pub(super) fn requested_runner(requested: Option<&str>) -> Option<&str> {
    requested.map(str::trim).filter(|requested| !requested.is_empty() && *requested != "auto")
}

/// All possible runners, the most likely first.
fn candidates(facts: &ProjectFacts) -> Vec<(&'static str, Box<dyn TestRunner>)> {
    let mut found: Vec<(&'static str, Box<dyn TestRunner>)> = Vec::new();
    if facts.files.contains("Cargo.toml") {
        if facts.has_nextest && facts.files.contains(".config/nextest.toml") {
            found.push(("nextest", Box::new(Nextest { workspace: facts.cargo_workspace })));
        }
        found.push(("cargo", Box::new(Cargo { workspace: facts.cargo_workspace })));
    }
    found.extend(package(facts).into_iter().flatten());
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

fn package(facts: &ProjectFacts) -> serde_json::Result<Vec<(&'static str, Box<dyn TestRunner>)>> {
    let manager = PackageManager::of_files(|name| facts.files.contains(name));
    let local = |name: &str| {
        let program = facts.local.iter().find(|path| path.file_name() == Some(OsStr::new(name)));
        program.map(|path| path.display().to_string())
    };
    let Some(manifest) = facts.package.as_deref() else { return Ok(Vec::new()) };
    let adapter = |runner| -> (&'static str, Box<dyn TestRunner>) {
        match runner {
            PackageRunner::Vitest(tool) => ("vitest", Box::new(Jest { kind: JestKind::Vitest, tool })),
            PackageRunner::Jest(tool) => ("jest", Box::new(Jest { kind: JestKind::Jest, tool })),
            PackageRunner::Mocha(tool) => ("mocha", Box::new(Mocha { tool })),
            PackageRunner::Node(script) => {
                ("node", Box::new(NodeTest { script, shown: manager.test_command().to_owned() }))
            }
            PackageRunner::Bun => ("bun", Box::new(Bun)),
            PackageRunner::Script(line) => ("script", Box::new(Generic { line })),
        }
    };
    Ok(find_runners(manifest, manager, local)?.into_iter().map(adapter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(files: &[&str]) -> ProjectFacts {
        let files = files.iter().map(ToString::to_string).collect();
        ProjectFacts { files, python: "python3".into(), ..ProjectFacts::default() }
    }

    fn found(facts: &ProjectFacts, requested: Option<&str>) -> Result<String, DetectError> {
        detect(facts, Path::new("/app"), requested).map(|found| found.adapter.name())
    }

    #[test]
    fn runner_of_every_kind_of_project_is_detected() {
        assert_eq!(found(&facts(&["Cargo.toml"]), None).unwrap(), "cargo test");
        assert_eq!(found(&facts(&["go.mod"]), None).unwrap(), "go test");
        let vitest = r#"{"scripts": {"test": "vitest"}}"#;
        let node = |text: &str, lock: &str| ProjectFacts {
            package: Some(text.into()),
            ..facts(&["package.json", lock])
        };
        assert_eq!(found(&node(vitest, "pnpm-lock.yaml"), None).unwrap(), "pnpm test");
        assert_eq!(found(&node(r#"{"scripts": {"test": "node --test"}}"#, ""), None).unwrap(), "npm test");
        assert_eq!(
            found(&node(r#"{"scripts": {"test": "a && b"}}"#, "yarn.lock"), None).unwrap(),
            "yarn test"
        );
        let bare = ProjectFacts { python_tests: vec!["test_a.py".into()], ..facts(&["test_a.py"]) };
        assert_eq!(found(&bare, None).unwrap(), "python -m unittest");
        assert_eq!(found(&ProjectFacts { has_pytest: true, ..bare.clone() }, None).unwrap(), "pytest");
        let configured = ProjectFacts { python_config: "[tool.pytest.ini_options]".into(), ..bare };
        assert_eq!(found(&configured, None).unwrap(), "pytest");
    }

    #[test]
    fn nextest_is_used_if_configured_and_installed() {
        let both = ProjectFacts { has_nextest: true, ..facts(&["Cargo.toml", ".config/nextest.toml"]) };
        assert_eq!(found(&both, None).unwrap(), "cargo nextest run");
        assert_eq!(found(&ProjectFacts { has_nextest: false, ..both.clone() }, None).unwrap(), "cargo test");
        assert_eq!(found(&both, Some("cargo")).unwrap(), "cargo test");
    }

    #[test]
    fn detection_lists_alternative_runners() {
        let detected = detect(&facts(&["Cargo.toml", "go.mod"]), Path::new("/app"), None).unwrap();
        assert_eq!(detected.others, ["go test"]);
        assert_eq!(found(&facts(&["Cargo.toml", "go.mod"]), Some("go test")).unwrap(), "go test");
    }

    #[test]
    fn custom_command_needs_trust_and_unused_runner_is_refused() {
        let empty = facts(&[]);
        let detected = detect(&empty, Path::new("/app"), Some("make check")).unwrap();
        assert_eq!((detected.adapter.name().as_str(), detected.needs_trust), ("make check", true));
        assert_eq!(found(&empty, Some("vitest")), Err(DetectError::NotThis("vitest".into())));
        assert_eq!(found(&empty, Some("auto")), Err(DetectError::Nothing("/app".into())));
    }
}
