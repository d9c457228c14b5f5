//! pytest.

use std::path::PathBuf;

use super::command::{RunnerCommand, RunnerOutput};
use super::conventions::RunnerConventions;
use super::coverage_tools::{self, CoverageRun, CoverageTools};
use super::junit::{self, JunitDialect};
use super::no_report::report_from_output;
use super::report::{TestOutcome, TestReport};
use super::{TestRunner, TestSelection, files_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pytest {
    /// The interpreter that has pytest.
    pub python: PathBuf,
}

/// Runs all tests, whatever the project configures.
const RUN_ALL: [&str; 2] = ["--maxfail=0", "--continue-on-collection-errors"];

impl TestRunner for Pytest {
    fn name(&self) -> String {
        "pytest".into()
    }

    fn conventions(&self) -> Option<RunnerConventions> {
        Some(RunnerConventions { language: "Python", framework: "pytest", test_files: "test_*.py" })
    }

    fn call(&self, which: &TestSelection) -> RunnerCommand {
        let call = RunnerCommand::new(self.python.display().to_string())
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1"])
            .args(RUN_ALL)
            .report_option("--junitxml=")
            .variable("PYTHONDONTWRITEBYTECODE", "1");
        let files = files_of(which);
        // pytest reads a bracket in a path as test parameters.
        if files.iter().any(|file| file.to_string_lossy().contains('[')) {
            return call;
        }
        match which {
            TestSelection::All => call,
            TestSelection::Files(_) => call.args(files),
            // A directory name may look like an option.
            TestSelection::Tests(cases) => call.args(cases.iter().map(|case| format!("./{}", case.name))),
        }
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        // Interrupted, internal error or usage error.
        if run_output.report.is_none() {
            return report_from_output(run_output);
        }
        let report = junit::read(run_output, &DIALECT);
        let failed = failed_in_summary(&run_output.stdout).unwrap_or(0);
        // A subtest is a failure of its own in the output, but not in the report.
        if failed > 0 && report.count(TestOutcome::Failed) == 0 {
            return TestReport::unreadable(format!("{failed} tests failed, but the report has no failure"));
        }
        report
    }

    fn coverage(&self, tools: &CoverageTools<'_>) -> Result<CoverageRun, String> {
        coverage_tools::python(tools, &self.python, |call, modules| {
            let call = call.args(["pytest", "-q", "-p", "no:cacheprovider"]).args(RUN_ALL);
            // The plugin would measure, too, if the project configures it.
            call.args(modules.iter().any(|module| module == "pytest_cov").then_some("--no-cov"))
        })
    }

    fn none_ran_code(&self) -> Option<i32> {
        Some(5)
    }
}

/// `1 failed, 2 passed in 0.03s`, the last line of the output.
fn failed_in_summary(stdout: &str) -> Option<usize> {
    let summary = stdout
        .lines()
        .rev()
        .find(|line| line.contains(" in ") && line.contains("passed") | line.contains("failed"))?;
    let words: Vec<&str> = summary.split([' ', ',', '=']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| *word == "failed")?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

const DIALECT: JunitDialect = JunitDialect {
    // A failing fixture is a test error; a module that cannot be collected has no tests.
    is_load_error: |error| {
        error.attribute("message").is_some_and(|message| message.starts_with("collection "))
    },
    name: |case| {
        let attribute = |name: &str| case.attribute(name).unwrap_or_default();
        let (file, class, name) = (attribute("file"), attribute("classname"), attribute("name"));
        let module = file.trim_end_matches(".py").replace('/', ".");
        // pytest's node id, so that the test can be rerun.
        match class.strip_prefix(&module).map(|class| class.trim_start_matches('.')) {
            Some("") => format!("{file}::{name}"),
            Some(class) => format!("{file}::{}::{name}", class.replace('.', "::")),
            None if class.is_empty() => name.to_owned(),
            None => format!("{class}::{name}"),
        }
    },
    file: |case| {
        let of_module = || {
            let class = case.attribute("classname").filter(|class| !class.is_empty());
            Some(format!("{}.py", class.or(case.attribute("name"))?.replace('.', "/")))
        };
        case.attribute("file").map(str::to_owned).or_else(of_module)
    },
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="2" failures="1" skipped="1" tests="6">
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="3" time="0.001" />
<testcase classname="tests.test_a.TestX" name="test_bad[1-2]" file="tests/test_a.py" line="7"><failure message="assert 2 == 3">def test_bad():
&gt;       assert 2 == 3
E       assert 2 == 3

tests/test_a.py:9: AssertionError</failure></testcase>
<testcase classname="tests.test_a" name="test_fixture" file="tests/test_a.py" line="12"><error message="failed on setup with &quot;ValueError&quot;">x</error></testcase>
<testcase classname="tests.test_a" name="test_skip" file="tests/test_a.py" line="15"><skipped type="pytest.skip" message="no" /></testcase>
<testcase classname="" name="tests.test_b" time="0.000"><error message="collection failure">ImportError while importing test module '/app/tests/test_b.py'.
tests/test_b.py:1: in &lt;module&gt;
    from missing import nothing
E   ModuleNotFoundError: No module named 'missing'</error></testcase>
</testsuite></testsuites>"#;

    #[test]
    fn pytest_names_are_node_ids() {
        let report = Pytest { python: "python3".into() }.read(&RunnerOutput::with(1).report(REPORT));
        let cases: Vec<_> = report.cases.iter().map(|case| (case.outcome, case.name.as_str())).collect();
        assert_eq!(
            cases,
            [
                (TestOutcome::Passed, "tests/test_a.py::test_ok"),
                (TestOutcome::Failed, "tests/test_a.py::TestX::test_bad[1-2]"),
                (TestOutcome::Failed, "tests/test_a.py::test_fixture"),
                (TestOutcome::Skipped, "tests/test_a.py::test_skip"),
            ]
        );
        assert_eq!(report.broken.len(), 1);
        assert_eq!(report.broken[0].places[0].file, Path::new("tests/test_b.py"));
    }

    #[test]
    fn pytest_report_with_fewer_failures_than_the_output_is_unreadable() {
        let all_passed = "<testsuites><testsuite><testcase classname=\"test_a\" name=\"test_x\" file=\"test_a.py\"/></testsuite></testsuites>";
        let read = |output: &str| {
            let output = RunnerOutput::with(0).stdout(output).report(all_passed);
            Pytest { python: "python3".into() }.read(&output).unreadable.is_some()
        };
        assert!(read("F\n1 failed in 0.01s\n") && read("=== 2 failed, 1 passed in 1.20s ===\n"));
        assert!(!read(".\n1 passed in 0.01s\n") && !read(""));
    }

    #[test]
    fn invalid_junit_report_is_unreadable() {
        for text in ["", "<testsuites>", "<!DOCTYPE x [<!ENTITY a \"b\">]><testsuites>&a;</testsuites>"] {
            let report = Pytest { python: "python3".into() }.read(&RunnerOutput::with(0).report(text));
            assert!(report.unreadable.is_some() && report.cases.is_empty(), "{text}");
        }
    }
}
