//! Python's unittest, for projects without pytest. Runs through a script that records each test, because unittest has
//! no machine-readable output.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{self, CoverageRun, CoverageTools};
use super::location::find_locations;
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection};

const SCRIPT: &str = include_str!("scripts/unittest_report.py");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unittest {
    pub python: PathBuf,
}

impl TestRunner for Unittest {
    fn name(&self) -> String {
        "python -m unittest".into()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions { language: "Python", framework: "unittest", test_files: "test_*.py" })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call = RunnerCommand::new(self.python.display().to_string())
            .script_option("", "unittest_report.py", SCRIPT)
            .report_option("")
            .variable("PYTHONDONTWRITEBYTECODE", "1");
        match which {
            // The script discovers tests itself, so that new files count.
            TestSelection::All => call,
            TestSelection::Files(files) => call.args(files.iter().map(|file| module(file))),
            TestSelection::Tests(cases) => call.args(cases.iter().map(|case| case.name.clone())),
        }
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        coverage_tools::python(tools, &self.python, |call, _| {
            call.script_option("", "unittest_report.py", SCRIPT).args(["/dev/null"])
        })
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let Some(text) = &run_output.report else { return TestReport::unreadable(run_output.output()) };
        let mut report = TestReport::default();
        let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        // A test that ends the process, or code that writes results of its own.
        let Some((Some(end), records)) = records.split_last().map(|(end, rest)| (end["end"].as_u64(), rest))
        else {
            return TestReport::unreadable(format!("the report is not complete\n{}", run_output.output()));
        };
        if end != records.len() as u64 {
            return TestReport::unreadable("the report has more or fewer results than tests ran");
        }
        for record in records {
            let (name, message) = (words(record, "name"), words(record, "message"));
            if record["loading"] == true {
                report
                    .broken
                    .push(BuildProblem::new(message, find_locations(message, &run_output.root, |_| false)));
                continue;
            }
            let outcome = match words(record, "outcome") {
                "passed" => TestOutcome::Passed,
                "skipped" => TestOutcome::Skipped,
                _ => TestOutcome::Failed,
            };
            let file = record["file"].as_str().map(|file| run_output.relative(file));
            let case = TestCase::new(name, outcome).in_file(file);
            report.cases.push(if outcome == TestOutcome::Failed { case.because(message) } else { case });
        }
        report
    }
}

fn words<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_default()
}

/// `tests/test_a.py` is `tests.test_a`.
fn module(file: &Path) -> String {
    let parts: Vec<_> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.join(".")
}
