//! `bun test`.

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{CoverageRun, CoverageTools};
use super::junit::{self, JunitDialect};
use super::location::{SourceLocation, find_locations};
use super::no_report::report_from_output;
use super::report::{BuildProblem, TestReport};
use super::{TestRunner, TestSelection, files_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bun;

impl TestRunner for Bun {
    fn name(&self) -> String {
        "bun test".into()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions {
            language: "JavaScript (Bun)",
            framework: "bun:test",
            test_files: "**/*.test.js",
        })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call =
            RunnerCommand::new("bun").args(["test", "--reporter=junit"]).report_option("--reporter-outfile=");
        call.args(files_of(which))
    }

    fn coverage(&self, _tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        let call = RunnerCommand::new("bun").args(["test", "--coverage", "--coverage-reporter=lcov"]);
        Ok(CoverageRun::with("bun test --coverage", call.report_dir_option("--coverage-dir=")))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let broken = unloaded(run_output);
        if run_output.report.is_some() {
            let report = junit::read(run_output, &DIALECT);
            return TestReport { broken: [report.broken, broken].concat(), ..report };
        }
        // Without tests bun writes no report.
        if !broken.is_empty() {
            TestReport::from_build_problems(broken)
        } else if ["No tests found!", "\nRan 0 tests "].iter().any(|words| run_output.stderr.contains(words))
        {
            TestReport::nothing_to_run()
        } else {
            report_from_output(run_output)
        }
    }
}

const DIALECT: JunitDialect = JunitDialect {
    is_load_error: |_| true,
    name: |case| {
        let attribute = |name: &str| case.attribute(name).filter(|value| !value.is_empty());
        let parts = [attribute("file"), attribute("classname"), attribute("name")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" > ")
    },
    file: |case| case.attribute("file").map(str::to_owned),
};

/// Files that could not be loaded are not in the report; stderr lists them between two rulers, below the file name.
fn unloaded(run_output: &RunnerOutput) -> Vec<BuildProblem> {
    let mut broken = Vec::new();
    let mut file: Option<SourceLocation> = None;
    let mut lines = run_output.stderr.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_suffix(':').map(|name| run_output.relative(name)) {
            if run_output.has_source(&name) {
                file = Some(SourceLocation::new(name, None));
            }
        } else if line == "# Unhandled error between tests" {
            let words = lines.by_ref().skip(1).take_while(|line| !is_rule(line));
            let words = words.collect::<Vec<_>>().join("\n");
            let mut places: Vec<SourceLocation> = file.clone().into_iter().collect();
            places.extend(find_locations(&words, &run_output.root, |_| false));
            broken.push(BuildProblem::new(words, places));
        }
    }
    broken
}

fn is_rule(line: &str) -> bool {
    line.len() >= 10 && line.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::report::TestOutcome;
    use super::*;

    #[test]
    fn bun_report_is_read_with_its_files() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?><testsuites name="bun test" tests="2" failures="1">
            <testsuite name="math.test.ts" file="math.test.ts"><testsuite name="sum" file="math.test.ts">
            <testcase name="adds" classname="sum" time="0.1" file="math.test.ts" line="4" assertions="1" />
            <testcase name="fails" classname="sum" time="0.1" file="math.test.ts"><failure type="AssertionError" /></testcase>
            </testsuite></testsuite></testsuites>"#;
        let read = Bun.read(&RunnerOutput::with(1).report(report));
        assert_eq!(read.outcome_of("math.test.ts > sum > adds"), Some(TestOutcome::Passed));
        assert_eq!(read.outcome_of("math.test.ts > sum > fails"), Some(TestOutcome::Failed));
    }

    proptest! {
        #[test]
        fn bun_parser_never_panics(stderr in "(# Unhandled error between tests\n|-------------------------------\n|a.js:\n|a.js:3:1\n|\n|é){0,12}") {
            Bun.read(&RunnerOutput::with(1).stderr(&stderr));
        }
    }
}
