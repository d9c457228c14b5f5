//! The status of a run as shown to users and agents.

use serde::Serialize;

use super::event::RunAction;
use super::state::{Run, RunStage, RunStep, StepOutcome};
use crate::tasks::{ItemId, TaskId};

/// The status of a run. Other programs read these field names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatusView {
    pub task_id: TaskId,
    pub phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tdd_phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_subtask: Option<CurrentSubtask>,
    pub progress: SubtaskProgress,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentSubtask {
    pub id: ItemId,
    pub title: String,
    pub attempts: u32,
    pub max_attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SubtaskProgress {
    pub completed: usize,
    pub total: usize,
    /// The number of the current subtask, counted from 1.
    pub current: usize,
    pub percentage: usize,
}

pub fn status(run: &Run) -> RunStatusView {
    let total = run.steps.len();
    let completed = run.steps.iter().filter(|step| step.outcome != StepOutcome::Open).count();
    let current = run.stage.step().map_or(completed, |step| step + 1);
    let subtask = |step: &RunStep| CurrentSubtask {
        id: step.id.clone(),
        title: step.title.clone(),
        attempts: attempts(&run.stage),
        max_attempts: run.request.max_attempts,
    };
    RunStatusView {
        task_id: run.request.task.clone(),
        phase: phase(&run.stage),
        tdd_phase: tdd_phase(&run.stage),
        branch_name: run.branch.as_ref().map(ToString::to_string),
        current_subtask: run.current().map(subtask),
        progress: SubtaskProgress {
            completed,
            total,
            current,
            percentage: rounded_percent(completed, total),
        },
    }
}

fn rounded_percent(part: usize, whole: usize) -> usize {
    (part * 200 + whole).checked_div(whole * 2).unwrap_or(100)
}

fn phase(stage: &RunStage) -> &'static str {
    match stage {
        RunStage::Preflight => "PREFLIGHT",
        RunStage::Branch => "BRANCH_SETUP",
        RunStage::Red { .. } | RunStage::Green { .. } | RunStage::Commit { .. } => "SUBTASK_LOOP",
        RunStage::Finalize | RunStage::Push | RunStage::PullRequest => "FINALIZE",
        RunStage::Done { .. } => "COMPLETE",
        RunStage::Aborted => "ABORTED",
        RunStage::Paused { at, .. } => phase(at),
    }
}

fn tdd_phase(stage: &RunStage) -> Option<&'static str> {
    match stage {
        RunStage::Red { .. } => Some("RED"),
        RunStage::Green { .. } => Some("GREEN"),
        RunStage::Commit { .. } => Some("COMMIT"),
        RunStage::Paused { at, .. } => tdd_phase(at),
        _ => None,
    }
}

fn attempts(stage: &RunStage) -> u32 {
    match stage {
        RunStage::Red { attempt, .. } | RunStage::Green { attempt, .. } => *attempt,
        RunStage::Paused { at, .. } => attempts(at),
        _ => 0,
    }
}

/// The next action for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextAction {
    /// `RED`, `GREEN` or `COMMIT`.
    pub phase: &'static str,
    pub subtask: ItemId,
    pub action: String,
}

/// The next action, if it concerns a subtask.
pub fn next_action(run: &Run) -> Option<NextAction> {
    let step = run.current()?;
    let (phase, words) = match run.action() {
        RunAction::WriteTests { insist: true } => ("RED", "Write a test that fails until this is done: "),
        RunAction::WriteTests { .. } => ("RED", "Generate failing tests for "),
        RunAction::WriteCode => ("GREEN", "Implement code to pass the tests of "),
        RunAction::Commit => ("COMMIT", "Commit "),
        RunAction::RunTests => (tdd_phase(&run.stage)?, "Run the tests of "),
        _ => return None,
    };
    Some(NextAction { phase, subtask: step.id.clone(), action: format!("{words}{}", step.title) })
}

/// The name of the next action in the JSON output.
pub fn action_name(run: &Run) -> &'static str {
    match &run.stage {
        RunStage::Red { .. } => "generate_test",
        RunStage::Green { .. } => "implement_code",
        RunStage::Commit { .. } => "commit_changes",
        RunStage::Finalize | RunStage::Push | RunStage::PullRequest => "finalize_workflow",
        RunStage::Done { .. } => "workflow_complete",
        RunStage::Preflight | RunStage::Branch | RunStage::Paused { .. } | RunStage::Aborted => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::RunEvent;
    use super::super::machine::tests::{begun, red};
    use super::*;

    #[test]
    fn status_uses_the_documented_names() {
        let mut run = begun(3);
        run.step(red()).unwrap();
        insta::assert_snapshot!(serde_json::to_string(&status(&run)).unwrap(), @r#"{"taskId":"42","phase":"SUBTASK_LOOP","tddPhase":"GREEN","branchName":"analytics/task-42-x","currentSubtask":{"id":"42.1","title":"Part 1","attempts":1,"maxAttempts":3},"progress":{"completed":0,"total":3,"current":1,"percentage":0}}"#);
        assert_eq!(action_name(&run), "implement_code");
        run.step(RunEvent::Pause).unwrap();
        assert_eq!((status(&run).phase, status(&run).tdd_phase), ("SUBTASK_LOOP", Some("GREEN")));
        assert_eq!(rounded_percent(1, 3), 33);
        assert_eq!(rounded_percent(2, 3), 67);
    }

    #[test]
    fn next_action_names_phase_subtask_and_action() {
        let run = begun(1);
        let unit = next_action(&run).unwrap();
        assert_eq!((unit.phase, unit.action.as_str()), ("RED", "Generate failing tests for Part 1"));
    }
}
