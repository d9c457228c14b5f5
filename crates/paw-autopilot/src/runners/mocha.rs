//! mocha.

use serde_json::Value;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{CoverageRun, CoverageTools};
use super::no_report::{self, report_from_output};
use super::package::PackageTool;
use super::report::{TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection, files_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mocha {
    pub tool: PackageTool,
}

impl TestRunner for Mocha {
    fn name(&self) -> String {
        self.tool.shown.clone()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions {
            language: "JavaScript (Node.js)",
            framework: "mocha",
            test_files: "test/**/*.js",
        })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call = self.tool.call(&[], &["--watch", "-w"]).args(["--reporter", "json", "--reporter-option"]);
        call.report_option("output=").args(files_of(which))
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        let c8 = tools.find_package(".bin/c8");
        let c8 =
            c8.ok_or("mocha measures coverage with c8, which is not installed (npm install --save-dev c8)")?;
        let starter = RunnerCommand::new(c8.display().to_string())
            .args(["--reporter=lcovonly", "--reporter=json-summary"])
            .report_dir_option("--reports-dir=")
            .report_dir_option("--temp-directory=");
        Ok(CoverageRun::with("c8 mocha", self.tool.call(&[], &["--watch", "-w"]).started_by(starter)))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let text = run_output.report.as_deref().unwrap_or_default();
        let Ok(report) = serde_json::from_str::<Value>(text) else {
            return without_report(run_output);
        };
        let lists = [
            ("passes", TestOutcome::Passed),
            ("failures", TestOutcome::Failed),
            ("pending", TestOutcome::Skipped),
        ];
        let cases = lists.into_iter().flat_map(|(list, outcome)| {
            let records = report[list].as_array().into_iter().flatten();
            records.filter_map(move |record| case(record, outcome, run_output))
        });
        TestReport { cases: cases.collect(), ..TestReport::default() }
    }
}

/// mocha writes no report if a file cannot be loaded.
fn without_report(run_output: &RunnerOutput) -> TestReport {
    if run_output.stderr.contains("Exception during run:") {
        return TestReport::from_build_problems(vec![no_report::broken(run_output)]);
    }
    if run_output.stderr.contains("Error: No test files found") {
        return TestReport::nothing_to_run();
    }
    report_from_output(run_output)
}

fn case(record: &Value, outcome: TestOutcome, run_output: &RunnerOutput) -> Option<TestCase> {
    let own = record["fullTitle"].as_str().or(record["title"].as_str())?;
    let file = record["file"].as_str().map(|file| run_output.relative(file));
    let place = file.as_ref().map(|file| format!("{} > ", file.display())).unwrap_or_default();
    let error = &record["err"];
    let message = error["stack"].as_str().or(error["message"].as_str()).unwrap_or_default();
    Some(TestCase::new(format!("{place}{own}"), outcome).in_file(file).because(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mocha_reads_every_list_of_the_report() {
        let report = r#"{"stats":{"suites":1,"tests":3,"passes":1,"pending":1,"failures":1},
            "tests":[],"pending":[{"title":"later","fullTitle":"sum later","file":"/app/test/a.js","err":{}}],
            "failures":[{"title":"fails","fullTitle":"sum fails","file":"/app/test/a.js",
              "err":{"message":"expected 2 to equal 3","stack":"AssertionError: expected 2 to equal 3\n at /app/test/a.js:5:9"}}],
            "passes":[{"title":"adds","fullTitle":"sum adds","file":"/app/test/a.js","err":{}}]}"#;
        let run_output = RunnerOutput::with(1).report(report);
        let read = Mocha { tool: PackageTool::at("mocha", "npm test") }.read(&run_output);
        let cases: Vec<_> = read.cases.iter().map(|case| (case.outcome, case.name.as_str())).collect();
        assert_eq!(
            cases,
            [
                (TestOutcome::Passed, "test/a.js > sum adds"),
                (TestOutcome::Failed, "test/a.js > sum fails"),
                (TestOutcome::Skipped, "test/a.js > sum later"),
            ]
        );
        assert!(read.cases[1].message.as_deref().unwrap().contains("a.js:5:9"));
    }
}
