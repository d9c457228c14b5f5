//! How things are said to people: names, numbers, and what our tests have shown.

use std::path::PathBuf;

use paw_autopilot::coverage::gate::{Judged as Measured, Standing};
use paw_autopilot::evidence::Objection;
use paw_autopilot::runners::Outcome;
use paw_autopilot::work::{Judged, Judgement, Phase, Work};
use paw_core::text::{first_of, plural};
use paw_screen::text::Text;

/// Text of an executor or a test runner on one line.
pub(super) fn line(text: &str) -> String {
    Text::line(text).to_string()
}

pub(super) fn files(paths: &[PathBuf], work: &Work) -> String {
    let shown: Vec<String> = paths.iter().map(|path| line(&work.site.shown(path))).collect();
    if shown.is_empty() { "nothing".into() } else { first_of(&shown, 3) }
}

/// The line about an attempt, or nothing where there is nothing new to say.
pub(super) fn judged(work: &Work, judged: &Judged) -> Option<String> {
    let files = files(&judged.files, work);
    let failed = judged.tests.report.count(Outcome::Failed);
    Some(match (&judged.judgement, judged.phase, judged.attempt) {
        (Judgement::Proven, Phase::Red, _) if failed == 0 => {
            format!("  RED: generates {files} → does not build yet, as it should")
        }
        (Judgement::Proven, Phase::Red, _) => {
            let new = failed.saturating_sub(old_failures(work));
            format!("  RED: generates {files} → {}", plural(new.max(1), "failure"))
        }
        (Judgement::Proven, Phase::Green, 0) => "  GREEN: all tests pass".into(),
        (Judgement::Proven, Phase::Green, _) if failed == 0 => {
            format!("  GREEN: implements {files} → all pass")
        }
        (Judgement::Proven, Phase::Green, _) => {
            format!("  GREEN: implements {files} → its tests pass ({failed} failed before and still do)")
        }
        (Judgement::AlreadyGreen { settled: false }, ..) => {
            format!("  RED: generates {files} → passes at once; one that fails is asked for")
        }
        (Judgement::AlreadyGreen { settled: true }, ..) => {
            "  RED: passes at once again → already implemented, nothing to commit".into()
        }
        // The tests as somebody left them; what follows says more.
        (Judgement::Refused(_), Phase::Red, 0) => return None,
        (Judgement::Refused(objections), Phase::Green, 0) => {
            format!("  GREEN: not yet ({})", why(objections, failed))
        }
        (Judgement::Refused(objections), phase, attempt) => format!(
            "→ Subtask {} {} phase: attempt {attempt} fails ({})",
            judged.subtask,
            phase.as_str(),
            why(objections, failed)
        ),
    })
}

fn old_failures(work: &Work) -> usize {
    work.baseline().count(Outcome::Failed)
}

/// Failing tests are counted; anything else is said.
fn why(objections: &[Objection], failed: usize) -> String {
    let other = objections.iter().find(|objection| {
        !matches!(objection, Objection::StillFailing { .. } | Objection::NewFailures { .. })
    });
    match other {
        Some(objection) => line(&objection.to_string()),
        None => format!("{} still red", plural(failed.max(1), "test")),
    }
}

/// The figure people ask for: lines, else whatever was measured.
pub(super) fn coverage(judged: &[Measured]) -> Option<(bool, String)> {
    let missed = judged.iter().find(|judged| judged.standing == Standing::Missed);
    let shown = missed.or_else(|| judged.iter().find(|judged| judged.percent.is_some()))?;
    let (percent, wanted) = (shown.percent?.floor(), shown.wanted);
    let metric = if shown.metric == "lines" { String::new() } else { format!(" of {}", shown.metric) };
    Some(match shown.standing {
        Standing::Missed => (false, format!("{percent:.0}%{metric} (below {wanted:.0}% threshold)")),
        _ => (true, format!("{percent:.0}%{metric} (meets {wanted:.0}% threshold)")),
    })
}
