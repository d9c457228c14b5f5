//! Any shell command: the whole suite is one test, judged by the exit code.

use paw_host::process::Exit;

use super::command::{RunnerCommand, RunnerOutput};
use super::report::{TestCase, TestOutcome, TestReport};
use super::{TestRunner, TestSelection};

/// A shell command of the project. The caller must ask the user before running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generic {
    pub line: String,
}

impl TestRunner for Generic {
    fn name(&self) -> String {
        self.line.clone()
    }

    fn line(&self) -> Option<&str> {
        Some(&self.line)
    }

    fn call(&self, _which: &TestSelection) -> RunnerCommand {
        RunnerCommand::new("sh").args(["-c", &self.line])
    }

    fn read(&self, run_output: &RunnerOutput) -> TestReport {
        // Exit codes 126 and 127 and signals mean that the command did not run tests.
        if !matches!(run_output.exit, Exit::Code(code) if code != 126 && code != 127) {
            return TestReport::unreadable(last_words(&run_output.output()));
        }
        let outcome = if run_output.exit.success() { TestOutcome::Passed } else { TestOutcome::Failed };
        let case = TestCase::new(&self.line, outcome);
        let case = if outcome == TestOutcome::Failed {
            case.because(last_words(&run_output.output()))
        } else {
            case
        };
        TestReport { cases: vec![case], ..TestReport::default() }
    }
}

/// The error is usually at the end.
fn last_words(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::TestVerdict;
    use super::super::verdict::judge;
    use super::*;

    #[test]
    fn generic_runner_treats_the_suite_as_one_test() {
        let verdict = |exit| {
            let run_output = RunnerOutput {
                exit,
                stdout: "x".into(),
                stderr: "y".into(),
                report: None,
                replaced: false,
                root: "/".into(),
            };
            judge(exit, &Generic { line: "make check".into() }.read(&run_output), None)
        };
        assert_eq!(verdict(Exit::Code(0)), TestVerdict::Passed);
        assert_eq!(verdict(Exit::Code(2)), TestVerdict::Failures);
        assert_eq!(verdict(Exit::Code(127)), TestVerdict::Crashed);
        assert_eq!(verdict(Exit::Signal(11)), TestVerdict::Crashed);
    }
}
