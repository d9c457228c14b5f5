//! The verdict on a test run, from exit code and report together.

use paw_host::process::Exit;
use serde::{Deserialize, Serialize};

use super::report::{TestOutcome, TestReport};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestVerdict {
    /// At least one test ran, and none failed.
    Passed,
    Failures,
    /// Something could not be built, imported or collected.
    BuildFailure,
    /// Nothing ran, or everything was skipped.
    NoneRan,
    TimedOut,
    /// The runner failed, or exit code and report contradict each other. Proves nothing.
    Crashed,
}

pub fn judge(exit: Exit, report: &TestReport, none_ran_code: Option<i32>) -> TestVerdict {
    let ran = report.count(TestOutcome::Passed) + report.count(TestOutcome::Failed);
    if matches!(exit, Exit::TimedOut { .. }) {
        TestVerdict::TimedOut
    } else if !report.broken.is_empty() {
        TestVerdict::BuildFailure
    } else if report.count(TestOutcome::Failed) > 0 {
        TestVerdict::Failures
    } else if report.unreadable.is_some() {
        TestVerdict::Crashed
    } else if ran == 0 && says_none_ran(exit, report, none_ran_code) {
        TestVerdict::NoneRan
    } else if exit.success() {
        TestVerdict::Passed
    } else {
        TestVerdict::Crashed
    }
}

fn says_none_ran(exit: Exit, report: &TestReport, code: Option<i32>) -> bool {
    exit.success() || report.nothing_to_run || code.is_some_and(|code| exit == Exit::Code(code))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{BuildProblem, TestCase};
    use super::*;

    fn report(outcomes: &[TestOutcome]) -> TestReport {
        let cases =
            outcomes.iter().zip(0..).map(|(outcome, n)| TestCase::new(format!("t{n}"), *outcome)).collect();
        TestReport { cases, ..TestReport::default() }
    }

    #[test]
    fn verdict_needs_exit_code_and_report_to_agree() {
        use TestOutcome::{Failed, Passed, Skipped};
        let judge = |code, report: &TestReport| super::judge(Exit::Code(code), report, Some(5));
        assert_eq!(judge(0, &report(&[Passed, Skipped])), TestVerdict::Passed);
        assert_eq!(judge(1, &report(&[Passed])), TestVerdict::Crashed);
        assert_eq!(judge(0, &report(&[Passed, Failed])), TestVerdict::Failures);
        assert_eq!(judge(1, &report(&[Passed, Failed])), TestVerdict::Failures);
        assert_eq!(judge(0, &report(&[])), TestVerdict::NoneRan);
        assert_eq!(judge(0, &report(&[Skipped])), TestVerdict::NoneRan);
        assert_eq!(judge(5, &report(&[])), TestVerdict::NoneRan);
        assert_eq!(judge(1, &report(&[])), TestVerdict::Crashed);
        assert_eq!(judge(1, &TestReport::nothing_to_run()), TestVerdict::NoneRan);
        assert_eq!(judge(0, &TestReport::unreadable("gone")), TestVerdict::Crashed);
        let broken = TestReport { broken: vec![BuildProblem::new("x", Vec::new())], ..report(&[Passed]) };
        assert_eq!(judge(0, &broken), TestVerdict::BuildFailure);
    }

    #[test]
    fn timeout_and_signal_are_not_a_pass() {
        let passed = report(&[TestOutcome::Passed]);
        let limit = Duration::from_secs(1);
        assert_eq!(judge(Exit::TimedOut { limit }, &passed, None), TestVerdict::TimedOut);
        assert_eq!(judge(Exit::Signal(9), &passed, None), TestVerdict::Crashed);
    }
}
