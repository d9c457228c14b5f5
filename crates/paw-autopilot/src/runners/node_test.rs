//! `node --test` with a custom reporter that names files and suites.

use std::path::Path;

use serde_json::Value;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{CoverageRun, CoverageTools};
use super::location::{SourceLocation, find_locations};
use super::no_report::report_from_output;
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};
use super::script::TestScript;
use super::{TestRunner, TestSelection, files_of};

const REPORTER: &str = include_str!("scripts/node-reporter.mjs");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTest {
    /// The project's `test` script.
    pub script: TestScript,
    pub shown: String,
}

impl NodeTest {
    /// The start of the command, and the arguments of the script that follow `--test`.
    fn start(&self) -> (RunnerCommand, &[String]) {
        // Arguments before `--test` may be options with values.
        let words = self.script.words.get(1..).unwrap_or_default();
        let at = words.iter().position(|word| word == "--test").unwrap_or(0);
        let call = RunnerCommand::new("node").args(&words[..at]).args(["--test"]);
        let variables = self.script.variables.iter();
        let call = variables.fold(call, |call, (name, value)| call.variable(name, value));
        (call, words.get(at + 1..).unwrap_or_default())
    }
}

impl TestRunner for NodeTest {
    fn name(&self) -> String {
        self.shown.clone()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions {
            language: "JavaScript (Node.js)",
            framework: "node:test",
            test_files: "**/*.test.js",
        })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let (call, rest) = self.start();
        let call = call
            .script_option("--test-reporter=", "node-reporter.mjs", REPORTER)
            .report_option("--test-reporter-destination=");
        let files = files_of(which);
        if files.is_empty() || files.iter().any(|file| is_pattern(file)) {
            return call.args(rest);
        }
        call.args(rest.iter().filter(|arg| arg.starts_with('-'))).args(files)
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        match tools.node_version() {
            Some((major, minor)) if major > 20 || (major == 20 && minor >= 11) => {}
            _ => return Err("node measures coverage since version 20.11".into()),
        }
        let (call, rest) = self.start();
        let call = call.args(["--experimental-test-coverage", "--test-reporter=lcov"]);
        let call = call.report_option("--test-reporter-destination=").args(rest);
        Ok(CoverageRun::with("node --experimental-test-coverage", call))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let Some(text) = &run_output.report else { return report_from_output(run_output) };
        let mut report = TestReport::default();
        for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            read_record(&record, run_output, &mut report);
        }
        report
    }
}

/// Some node versions read such names as patterns, so all tests run instead.
fn is_pattern(file: &Path) -> bool {
    file.to_string_lossy().contains(['*', '?', '[', ']', '{', '}', '\\'])
}

fn read_record(record: &Value, run_output: &RunnerOutput, report: &mut TestReport) {
    // The last record, even if there are no tests.
    if record["end"] == true {
        return;
    }
    let name = record["name"].as_str().unwrap_or_default();
    let file = record["file"].as_str().map(|file| run_output.relative(file));
    let message = record["message"].as_str().unwrap_or_default();
    if record["crashed"] == true {
        let words = record["said"].as_str().unwrap_or_default();
        let words = if words.trim().is_empty() { message } else { words };
        let mut places = vec![SourceLocation::new(file.unwrap_or_else(|| run_output.relative(name)), None)];
        places.extend(find_locations(words, &run_output.root, |_| false));
        report.broken.push(BuildProblem::new(words, places));
        return;
    }
    if record["whole"] == true && record["ok"] == true {
        return;
    }
    // A suite fails because of its tests, which are reported themselves, or because of a hook.
    if record["suite"] == true && (record["ok"] == true || record["failure"] == "subtestsFailed") {
        return;
    }
    let outcome = match (&record["skipped"], &record["ok"]) {
        (Value::Bool(true), _) => TestOutcome::Skipped,
        (_, Value::Bool(true)) => TestOutcome::Passed,
        _ => TestOutcome::Failed,
    };
    let place = file.as_ref().map(|file| format!("{} > ", file.display())).unwrap_or_default();
    report.cases.push(TestCase::new(format!("{place}{name}"), outcome).in_file(file).because(message));
}
