//! The message about a paused run: the reason, its saved state and the next steps.

use paw_autopilot::engine::pause::headline;
use paw_autopilot::engine::{PauseReason, RunStage};
use paw_autopilot::work::ActiveRun;

use super::format::line;

/// The next steps, as commands.
pub(super) fn next_steps(work: &ActiveRun) -> Vec<String> {
    let report = work.report_path();
    let mut steps = Vec::new();
    if let RunStage::Paused { reason: PauseReason::Push { .. }, .. } = &work.run.stage {
        steps.extend(work.manual_commands(true).into_iter().map(|command| format!("By hand: {command}")));
    } else {
        steps.push("Review diff: git diff HEAD".to_owned());
    }
    steps.push(format!("Inspect logs: cat {report}log.jsonl"));
    if let Some(result) = &work.notes.last_result {
        steps.push(format!("Check test output: cat {report}{}", result.display()));
    }
    steps.push("Resume after manual fix: git paw autopilot --resume".to_owned());
    steps
}

pub(super) fn lines(work: &ActiveRun) -> Vec<String> {
    let mut lines = vec![
        format!("⚠️ Paused: {}", line(&headline(&work.run).unwrap_or_default())),
        format!("📋 State saved to: {}", work.report_path()),
    ];
    if let Some(error) = &work.notes.last_error {
        lines.push(format!("Last error: \"{}\"", line(error)));
    }
    lines.push("Next steps:".into());
    lines.extend(next_steps(work).into_iter().map(|step| format!("- {step}")));
    lines
}
