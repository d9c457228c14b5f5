//! `cargo nextest`: one JSON record per test.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cargo;
use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{self, CoverageRun, CoverageTools};
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nextest {
    pub workspace: bool,
}

impl TestRunner for Nextest {
    fn name(&self) -> String {
        "cargo nextest run".into()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        cargo::Cargo { workspace: self.workspace }.conventions()
    }

    /// Builds what `cargo test` builds.
    fn build(&self) -> Option<RunnerCommand> {
        cargo::Cargo { workspace: self.workspace }.build()
    }

    fn parse_build(&self, run_output: &RunnerOutput) -> Vec<BuildProblem> {
        cargo::parse_build(run_output)
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call = RunnerCommand::new("cargo")
            .args(["nextest", "run", "--no-fail-fast", "--message-format", "libtest-json-plus"])
            // To see whether a test that passed has ended.
            .args(["--success-output", "immediate"])
            .args(cargo::whole(self.workspace))
            .variable("NEXTEST_EXPERIMENTAL_LIBTEST_JSON", "1");
        match which {
            TestSelection::All => call,
            TestSelection::Files(files) => {
                let names =
                    files.iter().filter(|file| file.parent().is_some_and(|dir| dir.ends_with("tests")));
                let filters: Vec<_> = names
                    .filter_map(|file| file.file_stem()?.to_str())
                    .map(|name| format!("binary(={name})"))
                    .collect();
                if filters.len() == files.len() && !filters.is_empty() {
                    return filtered(call, &filters);
                }
                match cargo::modules(files) {
                    Some(modules) => filtered(
                        call,
                        &modules.iter().map(|module| format!("test({module})")).collect::<Vec<_>>(),
                    ),
                    None => call,
                }
            }
            TestSelection::Tests(cases) => {
                let filters: Vec<_> = cases
                    .iter()
                    .filter_map(|case| case.name.split_once('$'))
                    .map(|(_, name)| format!("test(={name})"))
                    .collect();
                filtered(call, &filters)
            }
        }
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        coverage_tools::cargo(tools, Some("nextest"), cargo::whole(self.workspace))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let records = run_output.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut cases: Vec<TestCase> = Vec::new();
        for case in records.filter_map(|record| case(&record)) {
            // A test may be listed twice.
            match cases.iter_mut().find(|known| known.name == case.name) {
                Some(known) if case.outcome == TestOutcome::Failed => *known = case,
                Some(_) => {}
                None => cases.push(case),
            }
        }
        let early = ended_early(&run_output.stderr);
        for case in cases.iter_mut().filter(|case| case.outcome == TestOutcome::Passed) {
            if case.name.split_once('$').is_some_and(|(_, name)| early.contains(name)) {
                *case = TestCase::new(case.name.clone(), TestOutcome::Failed)
                    .because("the process of the test ended before its result");
            }
        }
        TestReport { cases, ..TestReport::default() }
    }

    fn none_ran_code(&self) -> Option<i32> {
        Some(4)
    }
}

/// Tests that passed according to the exit code of their process, although it ended before the test: it printed that one
/// test runs, and no result.
fn ended_early(stderr: &str) -> BTreeSet<&str> {
    let mut early = BTreeSet::new();
    let mut current = None;
    for line in stderr.lines() {
        let text = line.trim_start();
        if text.contains(" [") && STATES.iter().any(|state| text.starts_with(state)) {
            current = text.strip_prefix("PASS ").and_then(|rest| rest.rsplit(' ').next());
        } else if let Some(name) = current {
            match text {
                "running 1 test" => drop(early.insert(name)),
                _ if text.starts_with("test result: ok. 1 passed") => drop(early.remove(name)),
                _ => {}
            }
        }
    }
    early
}

/// How the lines about tests start.
const STATES: [&str; 7] = ["PASS ", "FAIL ", "TRY ", "SLOW ", "TIMEOUT ", "ABORT ", "SIG"];

fn filtered(call: RunnerCommand, filters: &[String]) -> RunnerCommand {
    call.args(["-E", &filters.join(" | ")])
}

fn case(record: &Value) -> Option<TestCase> {
    if record["type"] != "test" {
        return None;
    }
    let outcome = match record["event"].as_str()? {
        "ok" => TestOutcome::Passed,
        "failed" | "timeout" => TestOutcome::Failed,
        "ignored" => TestOutcome::Skipped,
        _ => return None,
    };
    let case = TestCase::new(record["name"].as_str()?, outcome);
    let message = record["stdout"].as_str().or(record["reason"].as_str());
    Some(if outcome == TestOutcome::Failed { case.because(message.unwrap_or_default()) } else { case })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_notices_a_test_whose_process_ended_before_its_result() {
        let stdout = r#"{"type":"test","event":"ok","name":"fix::fix$tests::early","exec_time":0.1}
{"type":"test","event":"ok","name":"fix::fix$tests::good","exec_time":0.1}
{"type":"test","event":"ok","name":"fix::own$quiet","exec_time":0.1}"#;
        let stderr = "    Starting 3 tests across 2 binaries
        PASS [   0.136s] (1/3) fix tests::early
  output ───

    running 1 test

        PASS [   0.181s] (2/3) fix tests::good
  output ───

    running 1 test
    hello
    test tests::good ... ok

    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.10s

        PASS [   0.181s] (3/3) fix::own quiet
";
        let output = RunnerOutput::with(0).stdout(stdout).stderr(stderr);
        let report = Nextest { workspace: false }.read(&output);
        let outcome = |name: &str| report.outcome_of(name);
        assert_eq!(outcome("fix::fix$tests::early"), Some(TestOutcome::Failed));
        assert_eq!(outcome("fix::fix$tests::good"), Some(TestOutcome::Passed));
        assert_eq!(outcome("fix::own$quiet"), Some(TestOutcome::Passed), "a harness of its own");
    }

    #[test]
    fn nextest_merges_a_test_that_is_listed_twice() {
        let stdout = r#"{"type":"suite","event":"started","test_count":2}
{"type":"test","event":"started","name":"fix::fix$tests::bad"}
{"type":"test","event":"ok","name":"fix::fix$tests::bad"}
{"type":"test","event":"failed","name":"fix::fix$tests::bad","stdout":"panicked at"}
{"type":"test","event":"ignored","name":"fix::fix$tests::later"}
{"type":"test","event":"ignored","name":"fix::fix$tests::later"}
not json"#;
        let report = Nextest { workspace: false }.read(&RunnerOutput::with(100).stdout(stdout));
        assert_eq!(report.cases.len(), 2);
        assert_eq!(report.outcome_of("fix::fix$tests::bad"), Some(TestOutcome::Failed));
        let again = Nextest { workspace: false }.call(&TestSelection::Tests(vec![report.cases[0].clone()]));
        assert!(again.command("/".as_ref(), "/".as_ref()).to_string().ends_with("-E 'test(=tests::bad)'"));
    }
}
