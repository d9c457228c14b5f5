//! One attempt: the executor is told, works, and is looked after; then the tests judge.

use paw_host::clock::Stopwatch;
use serde_json::json;

use super::{Audience, Hands, Told, test};
use crate::engine::{Action, Event, Spent, Stage};
use crate::executor::{Assignment, TurnError, Turned};
use crate::prompt::{Facts, compose, rules};
use crate::work::seen::Seen;
use crate::work::{Phase, Work, WorkError};

pub(super) fn turn(
    work: &mut Work,
    hands: &mut Hands<'_>,
    audience: &mut dyn Audience,
) -> Result<(), WorkError> {
    let (phase, attempt) = match &work.run.stage {
        Stage::Green { attempt, .. } => (Phase::Green, *attempt),
        Stage::Red { attempt, .. } => (Phase::Red, *attempt),
        other => return Err(WorkError::NotNow { wanted: "ask the executor", stage: other.name() }),
    };
    audience.tell(work, Told::Asked { phase, attempt })?;
    let watch = Stopwatch::start();
    let before = match work.last_look() {
        Some(seen) => seen.clone(),
        None => Seen::look(&work.site)?,
    };
    let turned = match ask(work, hands, phase, attempt, audience) {
        Err(WorkError::Turn(TurnError::Closed(what))) => {
            work.spend(Spent { time: watch.elapsed(), cost: 0 })?;
            return closed(work, what);
        }
        other => other?,
    };
    if turned.left > 0 {
        audience.tell(work, Told::LeftRunning(turned.left))?;
    }
    work.spend(Spent { time: watch.elapsed(), cost: turned.cost })?;
    if matches!(work.run.stage, Stage::Paused { .. }) {
        return Ok(());
    }
    work.heed_pause()?;
    let Some(why) = turned.complaint else { return test(work, audience) };
    work.require_untouched_head()?;
    // Where it did something all the same, the tests say whether it was any good.
    let idle = before.until(&Seen::look(&work.site)?).is_empty();
    if idle { failed(work, &why, turned.temporary, audience) } else { test(work, audience) }
}

/// Nobody works any more; what was written so far stays, and the tests look at it when the run goes on.
fn closed(work: &mut Work, what: String) -> Result<(), WorkError> {
    if matches!(work.run.stage, Stage::Paused { .. }) {
        return Ok(());
    }
    work.heed_pause()?;
    work.require_untouched_head()?;
    work.happen(Event::Closed { what })?;
    Ok(())
}

fn failed(work: &mut Work, why: &str, temporary: bool, audience: &mut dyn Audience) -> Result<(), WorkError> {
    let action = work.happen(Event::ExecutorFailed { why: why.to_owned(), temporary })?;
    if let Action::Wait(time) = action {
        audience.tell(work, Told::Waiting { why, seconds: time.as_secs() })?;
        work.pause.sleep(time);
    }
    Ok(())
}

fn ask(
    work: &Work,
    hands: &mut Hands<'_>,
    phase: Phase,
    attempt: u32,
    audience: &mut dyn Audience,
) -> Result<Turned, WorkError> {
    let Some(step) = work.run.current() else {
        return Err(WorkError::NotNow { wanted: "ask the executor", stage: work.run.stage.name() });
    };
    let (task, subtask) = work.find_step(&step.id)?;
    let (tests, files) = work.usual_files(&subtask);
    let test_command = work.tester().name();
    let branch = work.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
    let executor = hands.executor;
    let site = &work.site;
    let prompt = compose(&Facts {
        task: &task,
        subtask: &subtask,
        tag: work.run.order.tag.as_str(),
        branch: &branch,
        test_command: &test_command,
        tests,
        files,
        stage: &work.run.stage,
        objections: &work.notes.objections,
        failing: work.notes.failing.iter().collect(),
        rules: rules::load(site, phase == Phase::Red),
    });
    let name = format!("subtask-{}-{}-attempt{attempt}", step.id, phase.as_str().to_lowercase());
    work.dir.write_prompt(&name, &prompt)?;
    let limit = match work.run.order.budget.time {
        Some(budget) => {
            executor.limit.min(budget.saturating_sub(work.run.spent.time) + std::time::Duration::from_secs(1))
        }
        None => executor.limit,
    };
    let order = Assignment {
        prompt,
        task: work.run.order.task.to_string(),
        subtask: step.id.to_string(),
        phase: phase.as_str().to_owned(),
        attempt,
        root: site.project.root.clone(),
        test_command: Some(test_command),
        mark: work.notes.mark.clone(),
        log: work.dir.executor_log(&name),
        limit,
    };
    let mut lost = Ok(());
    let turned = hands.place.work(executor, &order, &mut |line| {
        let told = audience.tell(work, Told::Said(line));
        if lost.is_ok() {
            lost = told;
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
