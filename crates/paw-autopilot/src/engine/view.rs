//! What people and agents are told about a run: where it stands, and what to do next.

use serde::Serialize;

use super::event::Action;
use super::state::{Run, Stage, Step, StepOutcome};
use crate::tasks::{ItemId, TaskId};

/// Where a run stands. The names are those other programs know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub task_id: TaskId,
    pub phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tdd_phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_subtask: Option<CurrentSubtask>,
    pub progress: Progress,
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
pub struct Progress {
    pub completed: usize,
    pub total: usize,
    /// The number of the subtask at hand, from one.
    pub current: usize,
    pub percentage: usize,
}

pub fn status(run: &Run) -> Status {
    let total = run.steps.len();
    let completed = run.steps.iter().filter(|step| step.outcome != StepOutcome::Open).count();
    let current = run.stage.step().map_or(completed, |step| step + 1);
    let subtask = |step: &Step| CurrentSubtask {
        id: step.id.clone(),
        title: step.title.clone(),
        attempts: attempts(&run.stage),
        max_attempts: run.order.max_attempts,
    };
    Status {
        task_id: run.order.task.clone(),
        phase: phase(&run.stage),
        tdd_phase: tdd_phase(&run.stage),
        branch_name: run.branch.as_ref().map(ToString::to_string),
        current_subtask: run.current().map(subtask),
        progress: Progress { completed, total, current, percentage: rounded_percent(completed, total) },
    }
}

fn rounded_percent(part: usize, whole: usize) -> usize {
    (part * 200 + whole).checked_div(whole * 2).unwrap_or(100)
}

fn phase(stage: &Stage) -> &'static str {
    match stage {
        Stage::Preflight => "PREFLIGHT",
        Stage::Branch => "BRANCH_SETUP",
        Stage::Red { .. } | Stage::Green { .. } | Stage::Commit { .. } => "SUBTASK_LOOP",
        Stage::Finalize | Stage::Push | Stage::PullRequest => "FINALIZE",
        Stage::Done { .. } => "COMPLETE",
        Stage::Aborted => "ABORTED",
        Stage::Paused { at, .. } => phase(at),
    }
}

fn tdd_phase(stage: &Stage) -> Option<&'static str> {
    match stage {
        Stage::Red { .. } => Some("RED"),
        Stage::Green { .. } => Some("GREEN"),
        Stage::Commit { .. } => Some("COMMIT"),
        Stage::Paused { at, .. } => tdd_phase(at),
        _ => None,
    }
}

fn attempts(stage: &Stage) -> u32 {
    match stage {
        Stage::Red { attempt, .. } | Stage::Green { attempt, .. } => *attempt,
        Stage::Paused { at, .. } => attempts(at),
        _ => 0,
    }
}

/// One thing to do, as an agent is asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkUnit {
    /// `RED`, `GREEN` or `COMMIT`.
    pub phase: &'static str,
    pub subtask: ItemId,
    pub action: String,
}

/// What is to be done now, where it is about a subtask.
pub fn work_unit(run: &Run) -> Option<WorkUnit> {
    let step = run.current()?;
    let (phase, words) = match run.action() {
        Action::WriteTests { insist: true } => ("RED", "Write a test that fails until this is done: "),
        Action::WriteTests { .. } => ("RED", "Generate failing tests for "),
        Action::WriteCode => ("GREEN", "Implement code to pass the tests of "),
        Action::Commit => ("COMMIT", "Commit "),
        Action::RunTests => (tdd_phase(&run.stage)?, "Run the tests of "),
        _ => return None,
    };
    Some(WorkUnit { phase, subtask: step.id.clone(), action: format!("{words}{}", step.title) })
}

/// The name other programs have for what comes next.
pub fn action_name(run: &Run) -> &'static str {
    match &run.stage {
        Stage::Red { .. } => "generate_test",
        Stage::Green { .. } => "implement_code",
        Stage::Commit { .. } => "commit_changes",
        Stage::Finalize | Stage::Push | Stage::PullRequest => "finalize_workflow",
        Stage::Done { .. } => "workflow_complete",
        Stage::Preflight | Stage::Branch | Stage::Paused { .. } | Stage::Aborted => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::super::machine::tests::{begun, red};
    use super::*;

    #[test]
    fn a_status_says_where_a_run_stands_in_the_names_others_know() {
        let mut run = begun(3);
        run.step(red()).unwrap();
        insta::assert_snapshot!(serde_json::to_string(&status(&run)).unwrap(), @r#"{"taskId":"42","phase":"SUBTASK_LOOP","tddPhase":"GREEN","branchName":"analytics/task-42-x","currentSubtask":{"id":"42.1","title":"Part 1","attempts":1,"maxAttempts":3},"progress":{"completed":0,"total":3,"current":1,"percentage":0}}"#);
        assert_eq!(action_name(&run), "implement_code");
        run.step(Event::Pause).unwrap();
        assert_eq!((status(&run).phase, status(&run).tdd_phase), ("SUBTASK_LOOP", Some("GREEN")));
        assert_eq!(rounded_percent(1, 3), 33);
        assert_eq!(rounded_percent(2, 3), 67);
    }

    #[test]
    fn a_work_unit_names_phase_subtask_and_what_to_do() {
        let run = begun(1);
        let unit = work_unit(&run).unwrap();
        assert_eq!((unit.phase, unit.action.as_str()), ("RED", "Generate failing tests for Part 1"));
    }
}
