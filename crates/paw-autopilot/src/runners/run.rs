//! Runs a test runner: with a time limit, an output limit, and without secrets.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_core::text::strip_terminal_codes;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access, FileError, NamedPipe, PipeContent};
use paw_host::process::{Command, Exit, ProcessError, Stream};
use paw_worktree::{RunSandbox, RunSandboxError};
use tempfile::TempDir;

use super::command::{RunnerCommand, RunnerOutput, report_dir, report_file};
use super::coverage_tools::CoverageRun;
use super::failure_text::what_failed;
use super::flaky::merge_rerun;
use super::report::{TestOutcome, TestReport};
use super::verdict::{TestVerdict, judge};
use super::{TestRunner, TestSelection};
use crate::time_limit::follow_with_limit;

/// Variables that tool chains need and that contain no secrets.
const TOOLCHAIN: [&str; 23] = [
    "BUN_INSTALL",
    "CARGO_HOME",
    "COREPACK_HOME",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestLimits {
    pub time: Duration,
    /// Maximum output in bytes.
    pub output: usize,
}

impl TestLimits {
    pub fn of(time: Duration) -> Self {
        Self { time, output: 64 << 20 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TestRunError {
    #[error("cannot run the tests: {0}")]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Sandbox(#[from] RunSandboxError),
}

impl Diagnostic for TestRunError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Process(_) => ErrorReport::new(ErrorCode::FailedPrecondition, self),
            Self::File(error) => error.report(),
            Self::Sandbox(error) => error.report(),
        }
    }
}

/// A test run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// The command as shown to the user.
    pub command: String,
    pub exit: Exit,
    pub duration: Duration,
    pub report: TestReport,
    pub verdict: TestVerdict,
    /// Tests that failed and then passed in the rerun.
    pub flaky: BTreeSet<String>,
    /// The end of its output.
    pub output: String,
}

/// Where tests run.
#[derive(Debug, Clone, Copy)]
pub struct TestPlace<'a> {
    pub root: &'a Path,
    /// Set in addition to the usual environment, or instead of it.
    pub variables: &'a [(String, String)],
    /// `None` protects the repository of `root`.
    pub sandbox: Option<&'a RunSandbox>,
}

impl<'a> From<&'a Path> for TestPlace<'a> {
    fn from(root: &'a Path) -> Self {
        Self { root, variables: &[], sandbox: None }
    }
}

impl<'a> From<&'a PathBuf> for TestPlace<'a> {
    fn from(root: &'a PathBuf) -> Self {
        root.as_path().into()
    }
}

/// Runs tests once. Every process carries `mark`, so that it can be found after a crash.
pub fn run<'a>(
    mark: Option<&str>,
    adapter: &dyn TestRunner,
    place: impl Into<TestPlace<'a>>,
    which: &TestSelection,
    limits: TestLimits,
) -> Result<TestRun, TestRunError> {
    let root = place.into();
    let watch = Stopwatch::start();
    if let Some(build) = adapter.build() {
        let (run_output, command) = call(mark, &build, root, limits)?;
        let broken = adapter.parse_build(&run_output);
        if !run_output.exit.success() {
            let report = TestReport::from_build_problems(broken);
            return Ok(finished(command, &run_output, report, adapter, watch.elapsed()));
        }
    }
    let (run_output, command) = call(mark, &adapter.call(which), root, limits)?;
    let report = if run_output.replaced {
        TestReport::unreadable("another program replaced the report")
    } else {
        adapter.read(&run_output)
    };
    Ok(finished(command, &run_output, report, adapter, watch.elapsed()))
}

/// Runs tests and reruns failed ones. A test that passes in the rerun is flaky and counts as passed.
pub fn run_twice<'a>(
    mark: Option<&str>,
    adapter: &dyn TestRunner,
    place: impl Into<TestPlace<'a>>,
    which: &TestSelection,
    limits: TestLimits,
) -> Result<TestRun, TestRunError> {
    let root = place.into();
    let first = run(mark, adapter, root, which, limits)?;
    if first.verdict != TestVerdict::Failures {
        return Ok(first);
    }
    let failed = first.report.failed().cloned().collect();
    let again = run(mark, adapter, root, &TestSelection::Tests(failed), limits)?;
    let (report, flaky) = merge_rerun(first.report, &again.report);
    let left = report.count(TestOutcome::Failed) > 0;
    let verdict = if left || flaky.is_empty() { first.verdict } else { again.verdict };
    let duration = first.duration + again.duration;
    Ok(TestRun { duration, report, verdict, flaky, ..first })
}

fn finished(
    command: String,
    run_output: &RunnerOutput,
    report: TestReport,
    adapter: &dyn TestRunner,
    duration: Duration,
) -> TestRun {
    let verdict = judge(run_output.exit, &report, adapter.none_ran_code());
    TestRun {
        command,
        exit: run_output.exit,
        duration,
        report,
        verdict,
        flaky: BTreeSet::new(),
        output: tail(&run_output.output()),
    }
}

fn tail(output: &str) -> String {
    const MOST: usize = 20_000;
    let from = output.len().saturating_sub(MOST);
    let from = (from..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or_default();
    output[from..].to_owned()
}

fn call(
    mark: Option<&str>,
    call: &RunnerCommand,
    at: TestPlace<'_>,
    limits: TestLimits,
) -> Result<(RunnerOutput, String), TestRunError> {
    let (run_output, command, place) = call_in_place(mark, call, at, limits, true)?;
    drop(place);
    Ok((run_output, command))
}

/// Runs the tests once more to measure coverage. Returns the reports. The exit code does not count: the tests are
/// judged by another run.
pub fn measure<'a>(
    mark: Option<&str>,
    coverage: &CoverageRun,
    place: impl Into<TestPlace<'a>>,
    limits: TestLimits,
) -> Result<Result<Vec<String>, String>, TestRunError> {
    let (run_output, command, place) = call_in_place(mark, &coverage.command, place.into(), limits, false)?;
    let files = ["lcov.info", "coverage-summary.json"].map(|name| report_dir(place.path()).join(name));
    let files = [report_file(place.path())].into_iter().chain(files);
    let reports: Vec<String> = files.filter_map(|file| load_report(&file, limits.output)).collect();
    if reports.is_empty() {
        let why = what_failed(&run_output.output()).map(|why| format!(": {why}")).unwrap_or_default();
        return Ok(Err(format!("'{command}' {} and wrote no report{why}", run_output.exit)));
    }
    Ok(Ok(reports))
}

/// Runs a command with a directory for its reports. `piped`: its report is read while it is written.
fn call_in_place(
    mark: Option<&str>,
    call: &RunnerCommand,
    at: TestPlace<'_>,
    limits: TestLimits,
    piped: bool,
) -> Result<(RunnerOutput, String, TempDir), TestRunError> {
    let root = at.root;
    let place = tempfile::Builder::new().prefix("git-paw-tests-").tempdir().map_err(|source| FileError {
        action: "create",
        path: std::env::temp_dir(),
        source,
    })?;
    files::create_dir(&report_dir(place.path()))?;
    for (name, text) in call.scripts() {
        files::write_atomic(&place.path().join(name), text.as_bytes(), Access::Usual)?;
    }
    let found = if at.sandbox.is_none() { Some(RunSandbox::find(root)?) } else { None };
    let own_sandbox = RunSandbox::off(root);
    let sandbox = at.sandbox.or(found.as_ref()).unwrap_or(&own_sandbox);
    let command = with_harmless_environment(call.command(root, place.path()), root);
    let command = at.variables.iter().fold(command, |command, (name, value)| command.env(name, value));
    let command = sandbox.apply(command);
    let pipe = if piped { Some(NamedPipe::create(&report_file(place.path()), limits.output)?) } else { None };
    // The name of the temporary directory is unique, so it marks the processes of this run.
    let own = place.path().file_name().unwrap_or_default().to_string_lossy();
    let (exit, stdout, stderr) = follow(&command, mark.unwrap_or(&own), limits)?;
    let (report, replaced) = match pipe.map(NamedPipe::finish).transpose()? {
        None | Some(PipeContent::Nothing) => (None, false),
        Some(PipeContent::Bytes(bytes)) => (Some(String::from_utf8_lossy(&bytes).into_owned()), false),
        Some(PipeContent::Replaced) => (None, true),
    };
    let words = |bytes: Vec<u8>| strip_terminal_codes(&String::from_utf8_lossy(&bytes)).into_owned();
    let (stdout, mut stderr) = (words(stdout), words(stderr));
    if !exit.success()
        && let Some(note) = sandbox.note(&stderr).or_else(|| sandbox.note(&stdout))
    {
        stderr = stderr + &note + "\n";
    }
    let run_output = RunnerOutput { exit, stdout, stderr, report, replaced, root: root.into() };
    Ok((run_output, command.to_string(), place))
}

/// Ignores a report above the size limit.
fn load_report(path: &Path, most: usize) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    let bytes = (size <= most as u64).then(|| std::fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn with_harmless_environment(command: Command, root: &Path) -> Command {
    let command = command.harmless_environment();
    let kept = TOOLCHAIN.into_iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
    let command = kept.fold(command, |command, (name, value)| command.env(name, value));
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(shared) => command.env("CARGO_TARGET_DIR", own_target_dir(Path::new(&shared), root)),
        None => command,
    }
}

/// Worktrees with a shared target directory would run each other's binaries.
fn own_target_dir(shared: &Path, root: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    shared.join(format!("git-paw-{:016x}", hasher.finish()))
}

/// Collects the output up to the limit; stops the program beyond it.
fn follow(
    command: &Command,
    mark: &str,
    limits: TestLimits,
) -> Result<(Exit, Vec<u8>, Vec<u8>), TestRunError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let exit = follow_with_limit(command.start(mark)?, limits.time, |stream, line| {
        let kept = if stream == Stream::Out { &mut stdout } else { &mut stderr };
        kept.extend_from_slice(line);
        kept.push(b'\n');
        if stdout.len() + stderr.len() > limits.output {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok((exit, stdout, stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_that_share_a_target_directory_do_not_share_binaries() {
        let (a, b) = (Path::new("/w/a"), Path::new("/w/b"));
        assert_ne!(own_target_dir(Path::new("/t"), a), own_target_dir(Path::new("/t"), b));
        assert!(own_target_dir(Path::new("/t"), a).starts_with("/t"));
    }
}
