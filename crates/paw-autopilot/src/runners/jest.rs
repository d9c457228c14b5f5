//! vitest and jest, which write the same report format.

use serde_json::Value;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{CoverageRun, CoverageTools};
use super::location::{SourceLocation, find_locations};
use super::no_report::report_from_output;
use super::package::PackageTool;
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection, files_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JestKind {
    Jest,
    Vitest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jest {
    pub kind: JestKind,
    pub tool: PackageTool,
}

impl Jest {
    /// One run without watching.
    fn start(&self) -> RunnerCommand {
        let call = match self.kind {
            JestKind::Vitest => self.tool.call(&["run"], &["run", "watch", "dev", "--watch", "-w", "--ui"]),
            JestKind::Jest => self.tool.call(&[], &["--watch", "--watchAll"]).args(["--ci"]),
        };
        call.args(["--passWithNoTests"]).variable("CI", "1")
    }
}

impl TestRunner for Jest {
    fn name(&self) -> String {
        self.tool.shown.clone()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        let framework = match self.kind {
            JestKind::Jest => "jest",
            JestKind::Vitest => "vitest",
        };
        Some(RunnerConventions { language: "JavaScript (Node.js)", framework, test_files: "**/*.test.js" })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let files = files_of(which);
        let call = match self.kind {
            // The JSON report omits hook errors, so the default reporter runs as well.
            JestKind::Vitest => self
                .start()
                .args(["--reporter=default", "--reporter=json"])
                .report_option("--outputFile.json="),
            JestKind::Jest => {
                let call = self.start().args(["--json"]);
                // Without this option a file name is a pattern.
                call.report_option("--outputFile=").args((!files.is_empty()).then_some("--runTestsByPath"))
            }
        };
        call.args(files)
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        if self.kind == JestKind::Jest {
            let call = self.start().args(["--coverage", "--coverageReporters=lcovonly"]);
            let call =
                call.args(["--coverageReporters=json-summary"]).report_dir_option("--coverageDirectory=");
            return Ok(CoverageRun::with("jest --coverage", call));
        }
        let has = |provider: &&str| tools.find_package(&format!("@vitest/coverage-{provider}")).is_some();
        let provider = ["v8", "istanbul"].into_iter().find(has).ok_or(
            "vitest measures coverage with @vitest/coverage-v8, which is not installed (npm install --save-dev @vitest/coverage-v8)",
        )?;
        let call = self.start().args(["--coverage.enabled=true", "--coverage.reportOnFailure=true"]);
        let call = call.args([format!("--coverage.provider={provider}")]);
        let call = call.args(["--coverage.reporter=lcovonly", "--coverage.reporter=json-summary"]);
        Ok(CoverageRun::with("vitest --coverage", call.report_dir_option("--coverage.reportsDirectory=")))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        read(run_output)
    }
}

/// Both report a file without tests as an error, even next to other tests.
const WITHOUT_TESTS: [&str; 2] =
    ["Your test suite must contain at least one test", "No test suite found in file"];

fn read(run_output: &RunnerOutput) -> TestReport {
    let text = run_output.report.as_deref().unwrap_or_default();
    let Ok(report) = serde_json::from_str::<Value>(text) else {
        return report_from_output(run_output);
    };
    let mut read = TestReport::default();
    for suite in report["testResults"].as_array().into_iter().flatten() {
        let file = suite["name"].as_str().map(|name| run_output.relative(name));
        let cases = suite["assertionResults"].as_array().map(Vec::as_slice).unwrap_or_default();
        read.cases.extend(cases.iter().filter_map(|record| {
            let outcome = match record["status"].as_str()? {
                "passed" => TestOutcome::Passed,
                "failed" => TestOutcome::Failed,
                _ => TestOutcome::Skipped,
            };
            let own = record["fullName"].as_str().or(record["title"].as_str())?.trim();
            let place = file.as_ref().map(|file| format!("{} > ", file.display())).unwrap_or_default();
            let messages =
                record["failureMessages"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let message = messages.collect::<Vec<_>>().join("\n");
            Some(TestCase::new(format!("{place}{own}"), outcome).in_file(file.clone()).because(message))
        }));
        // A file that cannot be imported has no tests.
        if suite["status"] == "failed" && !cases.iter().any(|record| record["status"] == "failed") {
            let message = suite["message"].as_str().map(str::trim).filter(|message| !message.is_empty());
            let output = run_output.output();
            let message = message.unwrap_or(&output);
            let mut places: Vec<SourceLocation> =
                file.map(|file| SourceLocation::new(file, None)).into_iter().collect();
            places.extend(find_locations(message, &run_output.root, |_| false));
            read.broken.push(BuildProblem::new(message, places));
        }
    }
    let is_empty = |broken: &BuildProblem| WITHOUT_TESTS.iter().any(|words| broken.message.contains(words));
    if read.cases.is_empty() && !read.broken.is_empty() && read.broken.iter().all(is_empty) {
        return TestReport::nothing_to_run();
    }
    read
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    const REPORT: &str = r#"{"numTotalTestSuites":3,"numPassedTests":1,"numFailedTests":1,"numPendingTests":1,
        "numTodoTests":1,"numTotalTests":4,"success":false,"testResults":[
        {"name":"/app/src/a.test.js","status":"failed","message":"","assertionResults":[
          {"ancestorTitles":["sum"],"title":"adds","fullName":"sum adds","status":"passed","failureMessages":[]},
          {"ancestorTitles":["sum"],"title":"fails","fullName":"sum fails","status":"failed",
           "failureMessages":["AssertionError: expected 2 to be 3\n    at /app/src/a.test.js:6:21"]},
          {"title":"later","fullName":"later","status":"todo","failureMessages":[]},
          {"title":"off","fullName":" off","status":"pending","failureMessages":[]}]},
        {"name":"/app/src/b.test.js","status":"failed","assertionResults":[],
         "message":"Failed to resolve import \"./missing.js\" from \"src/b.test.js\". Does the file exist?"}]}"#;

    #[test]
    fn jest_separates_failed_tests_from_files_that_cannot_be_imported() {
        let report = read(&RunnerOutput::with(1).report(REPORT));
        let cases: Vec<_> = report.cases.iter().map(|case| (case.outcome, case.name.as_str())).collect();
        assert_eq!(
            cases,
            [
                (TestOutcome::Passed, "src/a.test.js > sum adds"),
                (TestOutcome::Failed, "src/a.test.js > sum fails"),
                (TestOutcome::Skipped, "src/a.test.js > later"),
                (TestOutcome::Skipped, "src/a.test.js > off"),
            ]
        );
        assert_eq!(report.broken[0].places[0].file, Path::new("src/b.test.js"));
        assert!(report.cases[1].message.as_deref().unwrap().starts_with("AssertionError"));
    }

    #[test]
    fn jest_without_report_uses_the_output() {
        let broken = read(&RunnerOutput::with(1).stderr("SyntaxError: x\n    at /app/vitest.config.js:3:1"));
        assert_eq!(broken.broken[0].places, [SourceLocation::new("vitest.config.js", Some(3))]);
        assert!(
            read(&RunnerOutput::with(1).report("{").stderr("sh: vitest: not found")).unreadable.is_some()
        );
    }

    proptest! {
        #[test]
        fn jest_parser_never_panics(text in "[{}\\[\\]\",:a0 ]{0,60}") {
            read(&RunnerOutput::with(1).report(&text));
        }
    }
}
