//! One attempt: runs the executor, then the tests.

use paw_host::clock::Stopwatch;
use serde_json::json;

use super::{DriveEvent, DriveObserver, ExecutorSetup, test};
use crate::engine::{RunAction, RunEvent, RunStage, Spending};
use crate::executor::{ExecutorTask, TurnError, TurnResult};
use crate::prompt::{PromptContext, compose, rules};
use crate::work::snapshot::ChangeSnapshot;
use crate::work::{ActiveRun, TddPhase, WorkError};

pub(super) fn turn(
    work: &mut ActiveRun,
    setup: &mut ExecutorSetup<'_>,
    observer: &mut dyn DriveObserver,
) -> Result<(), WorkError> {
    let (phase, attempt) = match &work.run.stage {
        RunStage::Green { attempt, .. } => (TddPhase::Green, *attempt),
        RunStage::Red { attempt, .. } => (TddPhase::Red, *attempt),
        other => return Err(WorkError::NotNow { wanted: "ask the executor", stage: other.name() }),
    };
    observer.notify(work, DriveEvent::AttemptStarted { phase, attempt })?;
    let watch = Stopwatch::start();
    let before = match work.last_snapshot() {
        Some(snapshot) => snapshot.clone(),
        None => ChangeSnapshot::take(&work.context)?,
    };
    let stored = work.stored_state();
    let asked = ask(work, setup, phase, attempt, observer);
    work.require_stored_state(&stored)?;
    let turned = match asked {
        Err(WorkError::Turn(TurnError::Closed(what))) => {
            work.spend(Spending { time: watch.elapsed(), cost: 0 })?;
            return closed(work, what);
        }
        other => other?,
    };
    if turned.left > 0 {
        observer.notify(work, DriveEvent::LeftRunning(turned.left))?;
    }
    work.spend(Spending { time: watch.elapsed(), cost: turned.cost })?;
    if matches!(work.run.stage, RunStage::Paused { .. }) {
        return Ok(());
    }
    work.check_pause()?;
    let Some(why) = turned.complaint else { return test(work, observer) };
    work.require_unmoved_head()?;
    // If the executor changed files before it failed, the tests decide.
    let idle = before.changes_until(&ChangeSnapshot::take(&work.context)?).is_empty();
    if idle { failed(work, &why, turned.temporary, observer) } else { test(work, observer) }
}

/// The pane was closed. Files written so far stay and are tested when the run resumes.
fn closed(work: &mut ActiveRun, what: String) -> Result<(), WorkError> {
    if matches!(work.run.stage, RunStage::Paused { .. }) {
        return Ok(());
    }
    work.check_pause()?;
    work.require_unmoved_head()?;
    work.apply(RunEvent::Closed { what })?;
    Ok(())
}

fn failed(
    work: &mut ActiveRun,
    why: &str,
    temporary: bool,
    observer: &mut dyn DriveObserver,
) -> Result<(), WorkError> {
    let action = work.apply(RunEvent::ExecutorFailed { why: why.to_owned(), temporary })?;
    if let RunAction::Wait(time) = action {
        observer.notify(work, DriveEvent::Waiting { why, seconds: time.as_secs() })?;
        work.pause.sleep(time);
    }
    Ok(())
}

fn ask(
    work: &ActiveRun,
    setup: &mut ExecutorSetup<'_>,
    phase: TddPhase,
    attempt: u32,
    observer: &mut dyn DriveObserver,
) -> Result<TurnResult, WorkError> {
    let Some(step) = work.run.current() else {
        return Err(WorkError::NotNow { wanted: "ask the executor", stage: work.run.stage.name() });
    };
    let (task, subtask) = work.load_step(&step.id)?;
    let (tests, files) = work.suggested_files(&subtask);
    let test_command = work.tester().name();
    let branch = work.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
    let executor = setup.executor;
    let context = &work.context;
    let prompt = compose(&PromptContext {
        task: &task,
        subtask: &subtask,
        tag: work.run.request.tag.as_str(),
        branch: &branch,
        test_command: &test_command,
        conventions: work.conventions()?,
        tests,
        files,
        stage: &work.run.stage,
        objections: &work.notes.objections,
        failing: work.notes.failing.iter().collect(),
        rules: rules::load(context, phase == TddPhase::Red),
    });
    let name = format!("subtask-{}-{}-attempt{attempt}", step.id, phase.as_str().to_lowercase());
    work.dir.write_prompt(&name, &prompt)?;
    let limit = work.find_time_left().map_or(executor.limit, |left| executor.limit.min(left));
    let assignment = ExecutorTask {
        prompt,
        task: work.run.request.task.to_string(),
        subtask: step.id.to_string(),
        phase: phase.as_str().to_owned(),
        attempt,
        root: context.project.root.clone(),
        test_command: Some(test_command),
        mark: work.notes.mark.clone(),
        log: work.dir.executor_log(&name),
        limit,
    };
    let mut lost = Ok(());
    let turned = setup.backend.work(executor, &assignment, &mut |line| {
        let notified = observer.notify(work, DriveEvent::ExecutorOutput(line));
        if lost.is_ok() {
            lost = notified;
        }
    })?;
    lost?;
    let mut fields = json!({"subtask": step.id.to_string(), "status": "written", "executor": executor.name,
        "attempts": attempt, "duration": u64::try_from(turned.took.as_millis()).unwrap_or(u64::MAX), "exit": turned.exit.to_string()});
    if let Some(complaint) = &turned.complaint {
        fields["complaint"] = json!(complaint);
    }
    if turned.left > 0 {
        fields["leftRunning"] = json!(turned.left);
    }
    work.log(&phase.as_str().to_lowercase(), fields)?;
    Ok(turned)
}
