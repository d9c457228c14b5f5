//! `go test`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{CoverageRun, CoverageTools};
use super::location::find_locations;
use super::report::{BuildProblem, TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Go;

impl TestRunner for Go {
    fn name(&self) -> String {
        "go test".into()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions { language: "Go", framework: "testing", test_files: "**/*_test.go" })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call = RunnerCommand::new("go").args(["test", "-json"]);
        match which {
            TestSelection::All => call.args(["./..."]),
            TestSelection::Files(files) => {
                let mut packages: Vec<String> = files
                    .iter()
                    .map(|file| {
                        file.parent().map_or_else(|| ".".into(), |dir| format!("./{}", dir.display()))
                    })
                    .collect();
                packages.sort();
                packages.dedup();
                call.args(packages)
            }
            TestSelection::Tests(cases) => {
                let tests = cases.iter().filter_map(|case| case.name.rsplit_once(' ')).map(|(_, test)| test);
                let mut names: Vec<&str> = tests.filter_map(|test| test.split('/').next()).collect();
                names.sort_unstable();
                names.dedup();
                call.args(["-run".to_owned(), format!("^({})$", names.join("|")), "./...".to_owned()])
            }
        }
    }

    fn coverage(&self, _tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        let call = RunnerCommand::new("go").args(["test", "-covermode=atomic", "-coverpkg=./..."]);
        Ok(CoverageRun::with("go test -coverprofile", call.report_option("-coverprofile=").args(["./..."])))
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        let records: Vec<Value> =
            run_output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let cases = cases(&records);
        TestReport { broken: broken(&records, run_output, &cases), cases, ..TestReport::default() }
    }
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_default()
}

/// Names are `package TestName/sub`. A test with subtests is omitted, because its subtests are listed. A test that
/// started but never ended failed with its package.
fn cases(records: &[Value]) -> Vec<TestCase> {
    let mut run_output: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut ended: Vec<((&str, &str), TestOutcome)> = Vec::new();
    let mut running: BTreeSet<(&str, &str)> = BTreeSet::new();
    for record in records {
        let key = (text(record, "Package"), text(record, "Test"));
        let outcome = match (text(record, "Action"), key.1) {
            ("fail", "") => {
                ended.extend(
                    running.iter().filter(|test| test.0 == key.0).map(|test| (*test, TestOutcome::Failed)),
                );
                continue;
            }
            (_, "") => continue,
            ("run", _) => {
                running.insert(key);
                continue;
            }
            ("output", _) => {
                run_output.entry(key).or_default().push_str(text(record, "Output"));
                continue;
            }
            ("pass", _) => TestOutcome::Passed,
            ("fail", _) => TestOutcome::Failed,
            ("skip", _) => TestOutcome::Skipped,
            _ => continue,
        };
        running.remove(&key);
        ended.push((key, outcome));
    }
    let holders: BTreeSet<(&str, &str)> = ended
        .iter()
        .flat_map(|((package, test), _)| test.match_indices('/').map(|(at, _)| (*package, &test[..at])))
        .collect();
    // A parent that fails while all its subtests pass is a failure of its own.
    let fails_itself = |(package, test): &(&str, &str)| {
        !ended.iter().any(|((other, below), outcome)| {
            let is_below = below.strip_prefix(test).is_some_and(|rest| rest.starts_with('/'));
            other == package && is_below && *outcome == TestOutcome::Failed
        })
    };
    let told = ended.iter().filter(|(key, outcome)| {
        !holders.contains(key) || (*outcome == TestOutcome::Failed && fails_itself(key))
    });
    told.map(|(key, outcome)| {
        let case = TestCase::new(format!("{} {}", key.0, key.1), *outcome);
        let message = run_output.get(key).map(String::as_str).unwrap_or_default();
        if *outcome == TestOutcome::Failed { case.because(message) } else { case }
    })
    .collect()
}

/// A package that fails without a failing test did not build, or crashed outside of its tests.
fn broken(records: &[Value], run_output: &RunnerOutput, cases: &[TestCase]) -> Vec<BuildProblem> {
    let of = |action: &str, key: &str, value: &str| {
        let lines =
            records.iter().filter(|record| text(record, "Action") == action && text(record, key) == value);
        lines.map(|record| text(record, "Output")).collect::<String>()
    };
    let told =
        records.iter().filter(|record| text(record, "Action") == "fail" && !record["Test"].is_string());
    let told = told.map(|record| (text(record, "Package"), text(record, "FailedBuild")));
    let failed: BTreeSet<&str> = cases
        .iter()
        .filter(|case| case.outcome == TestOutcome::Failed)
        .filter_map(|case| Some(case.name.split_once(' ')?.0))
        .collect();
    told.chain(unbuilt(&run_output.stdout).map(|package| (package, "")))
        .filter(|(package, _)| !failed.contains(package))
        .map(|(package, build)| {
            // Newer Go versions report compiler output in records, older ones on stderr.
            let mut message = of("build-output", "ImportPath", build);
            if message.is_empty() {
                message =
                    format!("{}{}", section(&run_output.stderr, package), of("output", "Package", package));
            }
            let places = find_locations(&message, &run_output.root, |_| false);
            BuildProblem::new(message, places)
        })
        .collect()
}

/// Packages that older Go versions report as not built, in plain text between the records: `FAIL\texample.com/app
/// [build failed]`.
fn unbuilt(stdout: &str) -> impl Iterator<Item = &str> {
    let line = |line: &str| line.strip_prefix("FAIL\t").is_some_and(|rest| rest.ends_with(" failed]"));
    let lines = stdout.lines().filter(move |text| line(text));
    lines.filter_map(|line| line.strip_prefix("FAIL\t")?.split(' ').next())
}

/// Compiler output of one package, below `# package [package.test]`; all output if there is no such line.
fn section<'a>(stderr: &'a str, package: &str) -> Cow<'a, str> {
    let tested = format!("[{package}.test]");
    let mut inside = false;
    let mut lines = Vec::new();
    for line in stderr.lines() {
        if let Some(header) = line.strip_prefix("# ") {
            inside = header.split(' ').any(|word| word == package || word == tested);
        }
        if inside {
            lines.push(line);
        }
    }
    if lines.is_empty() { stderr.into() } else { (lines.join("\n") + "\n").into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::SourceLocation;
    use super::*;

    fn run_output(stdout: &str, stderr: &str) -> RunnerOutput {
        RunnerOutput::with(1).stdout(stdout).stderr(stderr)
    }

    const STDOUT: &str = r##"{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestSum"}
{"Action":"run","Package":"m/a","Test":"TestSum/two"}
{"Action":"output","Package":"m/a","Test":"TestSum/two","Output":"    a_test.go:9: got 2, want 3\n"}
{"Action":"fail","Package":"m/a","Test":"TestSum/two","Elapsed":0}
{"Action":"pass","Package":"m/a","Test":"TestSum/one","Elapsed":0}
{"Action":"fail","Package":"m/a","Test":"TestSum","Elapsed":0}
{"Action":"skip","Package":"m/a","Test":"TestLater","Elapsed":0}
{"Action":"fail","Package":"m/a","Elapsed":0.01}
{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"# m/b [m/b.test]\n"}
{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"b/b_test.go:3:11: undefined: y\n"}
{"ImportPath":"m/b [m/b.test]","Action":"build-fail"}
{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b [m/b.test]"}
"##;

    #[test]
    fn go_parent_test_can_fail_while_its_subtests_pass() {
        let stdout = r#"{"Action":"run","Package":"m/a","Test":"TestA"}
{"Action":"run","Package":"m/a","Test":"TestA/part"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:9: left open\n"}
{"Action":"pass","Package":"m/a","Test":"TestA/part","Elapsed":0}
{"Action":"fail","Package":"m/a","Test":"TestA","Elapsed":0}
{"Action":"fail","Package":"m/a","Elapsed":0.01}
"#;
        let report = Go.read(&run_output(stdout, ""));
        let cases: Vec<_> = report.cases.iter().map(|case| (case.outcome, case.name.as_str())).collect();
        assert_eq!(cases, [(TestOutcome::Passed, "m/a TestA/part"), (TestOutcome::Failed, "m/a TestA")]);
        assert!(report.cases[1].message.as_deref().is_some_and(|message| message.contains("left open")));
        assert!(report.broken.is_empty());
    }

    #[test]
    fn go_leaf_tests_count_and_unbuilt_packages_are_build_problems() {
        let report = Go.read(&run_output(STDOUT, ""));
        let cases: Vec<_> = report.cases.iter().map(|case| (case.outcome, case.name.as_str())).collect();
        assert_eq!(
            cases,
            [
                (TestOutcome::Failed, "m/a TestSum/two"),
                (TestOutcome::Passed, "m/a TestSum/one"),
                (TestOutcome::Skipped, "m/a TestLater"),
            ]
        );
        assert_eq!(report.broken.len(), 1);
        assert_eq!(report.broken[0].places, [SourceLocation::new("b/b_test.go", Some(3))]);
    }

    #[test]
    fn older_go_versions_report_build_errors_on_stderr() {
        let stdout = "FAIL\tm [build failed]\nFAIL\tm/a [setup failed]\nFAIL\tm/b\t0.01s\n";
        let stderr = "# m_test [m.test]\n./x_test.go:5:2: undefined: Sum\n# m/a\na/a_test.go:1:1: expected 'package'\n";
        let report = Go.read(&run_output(stdout, stderr));
        assert_eq!(report.broken.len(), 2);
        assert_eq!(report.broken[0].places, [SourceLocation::new("x_test.go", Some(5))]);
        assert!(report.broken[0].message.contains("undefined: Sum"));
        assert_eq!(report.broken[1].places, [SourceLocation::new("a/a_test.go", Some(1))]);
    }

    #[test]
    fn go_test_that_never_ended_fails_with_its_package() {
        let stdout = r#"{"Action":"run","Package":"m","Test":"TestLeaves"}
{"Action":"output","Package":"m","Test":"TestLeaves","Output":"=== RUN   TestLeaves\n"}
{"Action":"fail","Package":"m"}
"#;
        let report = Go.read(&run_output(stdout, ""));
        assert_eq!(report.outcome_of("m TestLeaves"), Some(TestOutcome::Failed));
        assert!(report.broken.is_empty());
    }

    #[test]
    fn go_selects_files_by_package_and_tests_by_name() {
        let shown = |which| Go.call(&which).command("/".as_ref(), "/".as_ref()).to_string();
        let files = vec!["a/x_test.go".into(), "a/y_test.go".into(), "z_test.go".into()];
        assert_eq!(shown(TestSelection::Files(files)), "go test -json ./ ./a");
        let tests = vec![TestCase::new("m/a TestSum/two", TestOutcome::Failed)];
        assert_eq!(shown(TestSelection::Tests(tests)), "go test -json -run '^(TestSum)$' ./...");
    }

    proptest! {
        #[test]
        fn go_parser_never_panics(stdout in "(\\{\"Action\":\"fail\"|,\"Package\":\"a\"|,\"Test\":\"T\"|,\"Test\":1|\\}\n|\n|x){0,20}") {
            Go.read(&run_output(&stdout, ""));
        }
    }
}
