//! Measuring coverage with the project's own test runner. A tool counts only if it is installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_host::process::{Command, find_program};
use paw_worktree::RunSandbox;

use super::command::RunnerCommand;

/// Runs a Python module or file under coverage.py.
pub(super) const PYTHON_SCRIPT: (&str, &str) = ("coverage_run.py", include_str!("scripts/coverage_run.py"));

/// A run of the whole suite that writes a coverage report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverageRun {
    pub command: RunnerCommand,
    /// The display name: `jest --coverage`.
    pub tool: &'static str,
}

impl CoverageRun {
    pub(super) fn with(tool: &'static str, command: RunnerCommand) -> Self {
        Self { command, tool }
    }
}

/// Where tools of a project are looked for.
#[derive(Debug, Clone, Copy)]
pub struct CoverageTools<'a> {
    pub root: &'a Path,
    pub search_path: &'a OsStr,
}

impl CoverageTools<'_> {
    pub(super) fn has_program(&self, name: &str) -> bool {
        find_program(name, self.search_path).is_some()
    }

    /// A package or program that a package manager installed, here or in a parent directory.
    pub(super) fn find_package(&self, name: &str) -> Option<PathBuf> {
        let packages = self.root.ancestors().take(4).map(|dir| dir.join("node_modules").join(name));
        packages.into_iter().find(|package| package.exists())
    }

    /// Which of these modules an interpreter can import. Looks for them without running them.
    pub(super) fn python_modules(&self, python: &Path, modules: &[&str]) -> Vec<String> {
        let question =
            "import sys, importlib.util as u\nfor m in sys.argv[1:]:\n    if u.find_spec(m): print(m)";
        let answer = self.ask(Command::new(python).args(["-c", question]).args(modules));
        answer.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The version of node: `(20, 11)`.
    pub(super) fn node_version(&self) -> Option<(u32, u32)> {
        let answer = self.ask(Command::new("node").args(["--version"]))?;
        let mut parts = answer.trim().trim_start_matches('v').split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    }

    /// The output of a program, which may be the project's own, in the sandbox of test runs.
    fn ask(&self, command: Command) -> Option<String> {
        let command = RunSandbox::find(self.root).ok()?.apply(command.dir(self.root).harmless_environment());
        let output = command.capture().ok()?;
        output.exit.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A run under coverage.py, if the interpreter has it.
pub(super) fn python(
    tools: &CoverageTools<'_>,
    python: &Path,
    arguments: impl FnOnce(RunnerCommand, &[String]) -> RunnerCommand,
) -> Result<CoverageRun, String> {
    let modules = tools.python_modules(python, &["coverage", "pytest_cov"]);
    if !modules.iter().any(|module| module == "coverage") {
        let python = python.strip_prefix(tools.root).unwrap_or(python).display();
        return Err(format!("coverage.py is not installed for {python} (pip install coverage)"));
    }
    let (name, text) = PYTHON_SCRIPT;
    let call =
        RunnerCommand::new(python.display().to_string()).script_option("", name, text).report_option("");
    let call = call.variable("PYTHONDONTWRITEBYTECODE", "1");
    Ok(CoverageRun::with("coverage.py", arguments(call, &modules)))
}

/// A run of cargo's tests under an installed tool. `subcommand`: nextest.
pub(super) fn cargo(
    tools: &CoverageTools<'_>,
    subcommand: Option<&'static str>,
    whole: Option<&'static str>,
) -> Result<CoverageRun, String> {
    let call = RunnerCommand::new("cargo");
    if tools.has_program("cargo-llvm-cov") {
        let call = call
            .args(["llvm-cov"])
            .args(subcommand)
            .args(["--no-fail-fast", "--ignore-run-fail"])
            .args(whole);
        return Ok(CoverageRun::with(
            "cargo llvm-cov",
            call.args(["--json", "--output-path"]).report_option(""),
        ));
    }
    if tools.has_program("cargo-tarpaulin") {
        let call = call.args(["tarpaulin", "--no-fail-fast", "--skip-clean", "--out", "Lcov"]).args(whole);
        return Ok(CoverageRun::with("cargo tarpaulin", call.args(["--output-dir"]).report_dir_option("")));
    }
    Err("neither cargo-llvm-cov nor cargo-tarpaulin is installed (cargo install cargo-llvm-cov)".into())
}
