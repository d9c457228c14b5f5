//! `cargo test`: builds with JSON messages first, then parses the test output, which has no stable machine-readable
//! format.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{self, CoverageRun, CoverageTools};
use super::location::{SourceLocation, find_locations};
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cargo {
    /// The workspace has other packages, which cargo would skip.
    pub workspace: bool,
}

/// `--workspace`, for a workspace.
pub(super) fn whole(workspace: bool) -> Option<&'static str> {
    workspace.then_some("--workspace")
}

impl TestRunner for Cargo {
    fn name(&self) -> String {
        "cargo test".into()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions {
            language: "Rust",
            framework: "cargo test",
            test_files: "src/**/*.rs (#[cfg(test)]), tests/*.rs",
        })
    }

    fn build(&self) -> Option<RunnerCommand> {
        let call = RunnerCommand::new("cargo").args(["test", "--no-run", "--message-format=json"]);
        Some(call.args(whole(self.workspace)))
    }

    fn parse_build(&self, run_output: &RunnerOutput) -> Vec<BuildProblem> {
        parse_build(run_output)
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call = RunnerCommand::new("cargo").args(["test", "--no-fail-fast"]).args(whole(self.workspace));
        match which {
            TestSelection::All => call,
            TestSelection::Files(files) => match (targets(files), modules(files)) {
                (Some(targets), _) => call.args(targets),
                (None, Some(modules)) => call.args(["--"]).args(modules),
                (None, None) => call,
            },
            TestSelection::Tests(cases) => {
                let names = cases.iter().filter_map(|case| case.name.split_once("::")).map(|(_, name)| name);
                call.args(["--", "--exact"]).args(names)
            }
        }
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        coverage_tools::cargo(tools, None, whole(self.workspace))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let labels = labels(&run_output.stderr);
        let blocks = blocks(&run_output.stdout);
        // Each binary is listed on stderr. If the numbers differ, the names cannot be assigned.
        let known = labels.len() == blocks.len();
        let label = |at: usize| if known { labels[at].clone() } else { BinaryLabel::numbered(at) };
        let cases = blocks.iter().enumerate().flat_map(|(at, block)| block.cases(&label(at))).collect();
        TestReport { cases, ..TestReport::default() }
    }
}

/// Compiler errors, without duplicates.
pub(super) fn parse_build(run_output: &RunnerOutput) -> Vec<BuildProblem> {
    let mut broken: Vec<BuildProblem> = Vec::new();
    for line in run_output.stdout.lines().filter(|line| line.starts_with('{')) {
        let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
        let message = &record["message"];
        let level = message["level"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        if record["reason"] != "compiler-message" || !level.starts_with("error") || spans.is_empty() {
            continue;
        }
        let code = message["code"]["code"].as_str().map(|code| format!("[{code}]")).unwrap_or_default();
        let text = message["message"].as_str().unwrap_or_default();
        let places = spans.iter().filter(|span| span["is_primary"] == true).filter_map(|span| {
            let line = span["line_start"].as_u64().and_then(|line| u32::try_from(line).ok());
            Some(SourceLocation::new(run_output.relative(span["file_name"].as_str()?), line))
        });
        let error = BuildProblem::new(format!("error{code}: {text}"), places.collect());
        if !broken.contains(&error) {
            broken.push(error);
        }
    }
    if broken.is_empty() && !run_output.exit.success() {
        let places = find_locations(&run_output.stderr, &run_output.root, |_| false);
        broken.push(BuildProblem::new(&run_output.stderr, places));
    }
    broken
}

/// Unit tests can run by module: `src/a/b.rs` is `a::b::`. Tests of a crate's root cannot be told from the others.
pub(super) fn modules(files: &[PathBuf]) -> Option<Vec<String>> {
    let module = |file: &PathBuf| {
        let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
        let (file, dirs) = parts.split_last()?;
        let below = dirs.iter().rposition(|dir| *dir == "src")? + 1;
        let stem = file.strip_suffix(".rs").filter(|stem| !["lib", "main"].contains(stem))?;
        let own = Some(stem).filter(|stem| *stem != "mod");
        let path: Vec<&str> = dirs[below..].iter().copied().chain(own).collect();
        (!path.is_empty() && path[0] != "bin").then(|| format!("{}::", path.join("::")))
    };
    files.iter().map(module).collect::<Option<Vec<_>>>().filter(|modules| !modules.is_empty())
}

/// Integration tests can run by file.
fn targets(files: &[PathBuf]) -> Option<Vec<String>> {
    let mut args = Vec::new();
    for file in files {
        let directory = file.parent().and_then(Path::file_name);
        let name = file.file_stem().and_then(|stem| stem.to_str())?;
        if directory? != "tests" {
            return None;
        }
        args.extend(["--test".to_owned(), name.to_owned()]);
    }
    (!args.is_empty()).then_some(args)
}

/// The test binary of a block of results.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BinaryLabel {
    name: String,
    file: Option<PathBuf>,
}

impl BinaryLabel {
    fn numbered(at: usize) -> Self {
        Self { name: format!("binary-{}", at + 1), file: None }
    }
}

/// `Running tests/more.rs (target/debug/deps/more-77fa)`, `Running unittests src/lib.rs (…)`, `Doc-tests fix`.
fn labels(stderr: &str) -> Vec<BinaryLabel> {
    stderr.lines().filter_map(|line| label(line.trim_start())).collect()
}

fn label(line: &str) -> Option<BinaryLabel> {
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(BinaryLabel { name: format!("doc-{name}"), file: None });
    }
    let (source, binary) = line.strip_prefix("Running ")?.rsplit_once(" (")?;
    let binary = Path::new(binary.trim_end_matches(')')).file_name()?.to_str()?;
    let name = binary.rsplit_once('-').map_or(binary, |(name, _)| name).to_owned();
    // Unit tests may be in any file of the crate.
    let file = (!source.starts_with("unittests ")).then(|| PathBuf::from(source));
    Some(BinaryLabel { name, file })
}

/// The output of one binary.
#[derive(Debug, Default)]
struct BinaryOutput<'a> {
    results: Vec<(&'a str, TestOutcome)>,
    messages: Vec<(&'a str, String)>,
    /// The number of failures in its summary line; `None` if the binary ended before it.
    failures: Option<usize>,
}

impl BinaryOutput<'_> {
    fn cases(&self, label: &BinaryLabel) -> Vec<TestCase> {
        let mut cases: Vec<TestCase> = self
            .results
            .iter()
            .map(|(name, outcome)| {
                let message = self.messages.iter().find(|(failed, _)| failed == name).map(|(_, text)| text);
                let case =
                    TestCase::new(format!("{}::{name}", label.name), *outcome).in_file(label.file.clone());
                case.because(message.map(String::as_str).unwrap_or_default())
            })
            .collect();
        // A test that prints to stdout directly can hide a result, but not change the count.
        let named = self.results.iter().filter(|(_, outcome)| *outcome == TestOutcome::Failed).count();
        match self.failures {
            Some(failures) if failures > named => {
                let hidden = format!("{}::({} more failures)", label.name, failures - named);
                cases.push(TestCase::new(hidden, TestOutcome::Failed));
            }
            Some(_) => {}
            None => {
                let early = format!("{}::(ended before its summary)", label.name);
                cases.push(TestCase::new(early, TestOutcome::Failed));
            }
        }
        cases
    }
}

fn blocks(stdout: &str) -> Vec<BinaryOutput<'_>> {
    let mut blocks: Vec<BinaryOutput<'_>> = Vec::new();
    let mut section = OutputSection::Outside;
    // A test whose result has not been printed yet.
    let mut waiting: Option<&str> = None;
    for line in stdout.lines() {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            blocks.push(BinaryOutput::default());
            section = OutputSection::Results;
            waiting = None;
            continue;
        }
        let Some(block) = blocks.last_mut() else { continue };
        match section {
            OutputSection::Outside => {}
            _ if line.starts_with("test result: ") => {
                block.failures = Some(failures_of(line));
                section = OutputSection::Outside;
            }
            OutputSection::Results => {
                if line == "failures:" {
                    section = OutputSection::Failures;
                } else if let Some((name, run_output)) =
                    line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
                {
                    let name = name.trim_end_matches(" - should panic");
                    match outcome(run_output) {
                        Some(outcome) => block.results.push((name, outcome)),
                        None => waiting = Some(name),
                    }
                } else if let Some((name, outcome)) = waiting.zip(outcome(line)) {
                    block.results.push((name, outcome));
                    waiting = None;
                }
            }
            OutputSection::Failures => {
                if let Some(name) =
                    line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
                {
                    block.messages.push((name, String::new()));
                } else if let Some((_, text)) = block.messages.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    blocks
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputSection {
    Outside,
    Results,
    Failures,
}

fn outcome(run_output: &str) -> Option<TestOutcome> {
    match run_output.trim() {
        "ok" => Some(TestOutcome::Passed),
        "FAILED" => Some(TestOutcome::Failed),
        run_output if run_output == "ignored" || run_output.starts_with("ignored, ") => {
            Some(TestOutcome::Skipped)
        }
        run_output if run_output.starts_with("ok (") || run_output.starts_with("ok <") => {
            Some(TestOutcome::Passed)
        }
        _ => None,
    }
}

/// `test result: FAILED. 2 passed; 2 failed; …`
fn failures_of(line: &str) -> usize {
    let counts = line.split("; ").find_map(|part| part.strip_suffix(" failed"));
    counts.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run_output(stdout: &str, stderr: &str) -> RunnerOutput {
        RunnerOutput::with(101).stdout(stdout).stderr(stderr)
    }

    const STDOUT: &str = "
running 5 tests
test tests::adds ... ok
test tests::does_not - should panic ... FAILED
test tests::later ... ignored
test tests::bad ... FAILED
test tests::noisy ... written past the harness
ok

failures:

---- tests::does_not stdout ----
note: test did not panic as expected at src/lib.rs:12:32
---- tests::bad stdout ----

thread 'tests::bad' (19411) panicked at src/lib.rs:9:24:
assertion `left == right` failed: numbers


failures:
    tests::bad
    tests::does_not

test result: FAILED. 2 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.99s

test tests::fake ... ok

running 1 test
test outside ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s
";
    const STDERR: &str = "
     Running unittests src/lib.rs (target/debug/deps/fix-f4cd55290063ffa0)
     Running tests/more.rs (target/debug/deps/more-77fa22eb49c6c028)
";

    #[test]
    fn cargo_results_are_read_per_binary_with_messages() {
        let report = Cargo { workspace: false }.read(&run_output(STDOUT, STDERR));
        let lines: Vec<_> =
            report.cases.iter().map(|case| format!("{:?} {}", case.outcome, case.name)).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        Passed fix::tests::adds
        Failed fix::tests::does_not
        Skipped fix::tests::later
        Failed fix::tests::bad
        Passed fix::tests::noisy
        Failed fix::(1 more failures)
        Passed more::outside
        ");
        let bad = &report.cases[3];
        assert!(bad.message.as_ref().unwrap().contains("assertion `left == right` failed"), "{bad:?}");
        assert_eq!(report.cases.last().unwrap().file.as_deref(), Some(Path::new("tests/more.rs")));
    }

    #[test]
    fn cargo_binaries_are_numbered_without_labels() {
        let report = Cargo { workspace: false }.read(&run_output(STDOUT, ""));
        assert!(report.cases[0].name.starts_with("binary-1::"), "{report:?}");
    }

    #[test]
    fn compiler_error_is_a_build_problem_with_a_location() {
        let record = serde_json::json!({"reason": "compiler-message", "message": {"level": "error",
            "message": "cannot find function `nothing` in this scope", "code": {"code": "E0425"},
            "spans": [{"file_name": "src/lib.rs", "line_start": 14, "is_primary": true}]}});
        let warning =
            serde_json::json!({"reason": "compiler-message", "message": {"level": "warning", "spans": [{}]}});
        let text = format!("{record}\n{warning}\n{record}\nnoise\n");
        let broken = parse_build(&run_output(&text, ""));
        assert_eq!(broken.len(), 1);
        assert_eq!(broken[0].message, "error[E0425]: cannot find function `nothing` in this scope");
        assert_eq!(broken[0].places, [SourceLocation::new("src/lib.rs", Some(14))]);
    }

    #[test]
    fn unreadable_cargo_manifest_is_a_build_problem() {
        let broken = parse_build(&run_output("", "error: failed to parse manifest at `/app/Cargo.toml`"));
        assert!(broken[0].message.contains("failed to parse"));
    }

    #[test]
    fn unit_tests_can_run_by_module() {
        let args = |files: &[&str]| modules(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(
            args(&["src/a.rs", "crates/x/src/b/c.rs", "src/d/mod.rs"]).unwrap(),
            ["a::", "b::c::", "d::"]
        );
        for files in
            [&["src/lib.rs"][..], &["src/a.rs", "src/main.rs"], &["tests/a.rs"], &["src/bin/x.rs"], &[]]
        {
            assert_eq!(args(files), None, "{files:?}");
        }
    }

    #[test]
    fn integration_test_file_can_run_alone() {
        let args = |files: &[&str]| targets(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(
            args(&["tests/more.rs", "crates/a/tests/x.rs"]).unwrap(),
            ["--test", "more", "--test", "x"]
        );
        assert_eq!(args(&["tests/more.rs", "src/lib.rs"]), None);
    }

    proptest! {
        #[test]
        fn cargo_parser_never_panics(stdout in "(running 1 test\n|test |a ... |ok\n|FAILED\n|failures:\n|---- a stdout ----\n|test result: |1 failed; |\n|é){0,30}", stderr in "( Running |\\(a-b\\)|Doc-tests |unittests |\n){0,8}") {
            Cargo { workspace: false }.read(&run_output(&stdout, &stderr));
            parse_build(&run_output(&stdout, &stderr));
        }
    }
}
