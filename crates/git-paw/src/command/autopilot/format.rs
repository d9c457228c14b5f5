//! Formats names, numbers and test results for output.

use std::path::PathBuf;

use paw_autopilot::coverage::gate::{ThresholdResult as SubtaskCoverage, ThresholdStatus};
use paw_autopilot::evidence::Objection;
use paw_autopilot::runners::TestOutcome;
use paw_autopilot::work::{ActiveRun, AttemptResult, PhaseJudgement, TddPhase};
use paw_core::text::{first_of, plural};
use paw_screen::text::Text;

/// Text of an executor or a test runner on one line.
pub(super) fn line(text: &str) -> String {
    Text::line(text).to_string()
}

pub(super) fn files(paths: &[PathBuf], work: &ActiveRun) -> String {
    let shown: Vec<String> = paths.iter().map(|path| line(&work.context.shown(path))).collect();
    if shown.is_empty() { "nothing".into() } else { first_of(&shown, 3) }
}

/// The line about an attempt, if there is something new to print.
pub(super) fn judged(work: &ActiveRun, judged: &AttemptResult) -> Option<String> {
    let files = files(&judged.files, work);
    let failed = judged.tests.report.count(TestOutcome::Failed);
    Some(match (&judged.judgement, judged.phase, judged.attempt) {
        (PhaseJudgement::Proven, TddPhase::Red, _) if failed == 0 => {
            format!("  RED: generates {files} → does not build yet, as expected")
        }
        (PhaseJudgement::Proven, TddPhase::Red, _) => {
            let new = failed.saturating_sub(old_failures(work));
            format!("  RED: generates {files} → {}", plural(new.max(1), "failure"))
        }
        (PhaseJudgement::Proven, TddPhase::Green, 0) => "  GREEN: all tests pass".into(),
        (PhaseJudgement::Proven, TddPhase::Green, _) if failed == 0 => {
            format!("  GREEN: implements {files} → all pass")
        }
        (PhaseJudgement::Proven, TddPhase::Green, _) => {
            format!("  GREEN: implements {files} → its tests pass ({failed} failed before and still do)")
        }
        (PhaseJudgement::AlreadyGreen { settled: false }, ..) => {
            format!("  RED: generates {files} → passes already; asking for a failing test")
        }
        (PhaseJudgement::AlreadyGreen { settled: true }, ..) => {
            "  RED: passes again → already implemented, nothing to commit".into()
        }
        // The tests as they were found; the next line reports more.
        (PhaseJudgement::Refused(_), TddPhase::Red, 0) => return None,
        (PhaseJudgement::Refused(objections), TddPhase::Green, 0) => {
            format!("  GREEN: not yet ({})", why(objections, failed))
        }
        (PhaseJudgement::Refused(objections), phase, attempt) => format!(
            "→ Subtask {} {} phase: attempt {attempt} fails ({})",
            judged.subtask,
            phase.as_str(),
            why(objections, failed)
        ),
    })
}

fn old_failures(work: &ActiveRun) -> usize {
    work.baseline().count(TestOutcome::Failed)
}

/// The number of failing tests, or the objection if there is another one.
fn why(objections: &[Objection], failed: usize) -> String {
    let other = objections.iter().find(|objection| {
        !matches!(objection, Objection::StillFailing { .. } | Objection::NewFailures { .. })
    });
    match other {
        Some(objection) => line(&objection.to_string()),
        None => format!("{} still red", plural(failed.max(1), "test")),
    }
}

/// The missed metric, else the first measured one.
pub(super) fn coverage(judged: &[SubtaskCoverage]) -> Option<(bool, String)> {
    let missed = judged.iter().find(|judged| judged.status == ThresholdStatus::Missed);
    let shown = missed.or_else(|| judged.iter().find(|judged| judged.percent.is_some()))?;
    let (percent, wanted) = (shown.percent?.floor(), shown.wanted);
    let metric = if shown.metric == "lines" { String::new() } else { format!(" of {}", shown.metric) };
    Some(match shown.status {
        ThresholdStatus::Missed => (false, format!("{percent:.0}%{metric} (below {wanted:.0}% threshold)")),
        _ => (true, format!("{percent:.0}%{metric} (meets {wanted:.0}% threshold)")),
    })
}
