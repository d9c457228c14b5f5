//! What a run means, all things considered: exit code and report together, never one alone.

use paw_host::process::Exit;
use serde::{Deserialize, Serialize};

use super::report::{Outcome, Report};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// At least one test ran, and none failed.
    Passed,
    Failures,
    /// Something could not be built, imported or collected.
    BuildFailure,
    /// Nothing ran, or everything was skipped.
    NoneRan,
    TimedOut,
    /// The runner itself failed, or said things that do not fit together. Proves nothing.
    Crashed,
}

pub fn judge(exit: Exit, report: &Report, none_ran_code: Option<i32>) -> Verdict {
    let ran = report.count(Outcome::Passed) + report.count(Outcome::Failed);
    if matches!(exit, Exit::TimedOut { .. }) {
        Verdict::TimedOut
    } else if !report.broken.is_empty() {
        Verdict::BuildFailure
    } else if report.count(Outcome::Failed) > 0 {
        Verdict::Failures
    } else if report.unreadable.is_some() {
        Verdict::Crashed
    } else if ran == 0 && says_none_ran(exit, report, none_ran_code) {
        Verdict::NoneRan
    } else if exit.success() {
        Verdict::Passed
    } else {
        Verdict::Crashed
    }
}

fn says_none_ran(exit: Exit, report: &Report, code: Option<i32>) -> bool {
    exit.success() || report.nothing_to_run || code.is_some_and(|code| exit == Exit::Code(code))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Broken, Case};
    use super::*;

    fn report(outcomes: &[Outcome]) -> Report {
        let cases =
            outcomes.iter().zip(0..).map(|(outcome, n)| Case::new(format!("t{n}"), *outcome)).collect();
        Report { cases, ..Report::default() }
    }

    #[test]
    fn exit_code_and_report_have_to_agree_before_anything_is_green() {
        use Outcome::{Failed, Passed, Skipped};
        let judge = |code, report: &Report| super::judge(Exit::Code(code), report, Some(5));
        assert_eq!(judge(0, &report(&[Passed, Skipped])), Verdict::Passed);
        assert_eq!(judge(1, &report(&[Passed])), Verdict::Crashed);
        assert_eq!(judge(0, &report(&[Passed, Failed])), Verdict::Failures);
        assert_eq!(judge(1, &report(&[Passed, Failed])), Verdict::Failures);
        assert_eq!(judge(0, &report(&[])), Verdict::NoneRan);
        assert_eq!(judge(0, &report(&[Skipped])), Verdict::NoneRan);
        assert_eq!(judge(5, &report(&[])), Verdict::NoneRan);
        assert_eq!(judge(1, &report(&[])), Verdict::Crashed);
        assert_eq!(judge(1, &Report::nothing_to_run()), Verdict::NoneRan);
        assert_eq!(judge(0, &Report::unreadable("gone")), Verdict::Crashed);
        let broken = Report { broken: vec![Broken::new("x", Vec::new())], ..report(&[Passed]) };
        assert_eq!(judge(0, &broken), Verdict::BuildFailure);
    }

    #[test]
    fn a_time_out_and_a_signal_prove_nothing() {
        let passed = report(&[Outcome::Passed]);
        let limit = Duration::from_secs(1);
        assert_eq!(judge(Exit::TimedOut { limit }, &passed, None), Verdict::TimedOut);
        assert_eq!(judge(Exit::Signal(9), &passed, None), Verdict::Crashed);
    }
}
