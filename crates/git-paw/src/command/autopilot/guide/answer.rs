//! The fields of every answer: the status of the run, the next step and the work unit. Other programs know these names.

use paw_autopilot::engine::pause::headline;
use paw_autopilot::runners::{TestOutcome, TestRun};
use paw_autopilot::work::{ActiveRun, next_steps};
use paw_core::PawError;
use serde_json::{Map, Value, json};

use crate::output::to_json;

/// The answer of a verb about a run in progress.
pub(super) fn answer(work: &ActiveRun, message: &str) -> Result<Value, PawError> {
    let mut answer = json!({"message": message});
    let unit = work.next()?;
    add(&mut answer, to_json(&work.status())?);
    let description = unit.as_ref().map_or_else(|| next_steps(work), |unit| unit.action.clone());
    let paused = headline(&work.run);
    add(
        &mut answer,
        json!({
            "title": work.run.request.title,
            "tag": work.run.request.tag,
            "action": work.action_name(),
            "nextAction": work.action_name(),
            "actionDescription": description,
            "nextSteps": next_steps(work),
            "report": work.report_path(),
        }),
    );
    if let Some(paused) = paused {
        answer["paused"] = json!(paused);
    }
    answer["workUnit"] = to_json(&unit)?;
    Ok(answer)
}

/// Adds the fields of one object to another.
pub(super) fn add(answer: &mut Value, more: Value) {
    if let (Some(answer), Value::Object(more)) = (answer.as_object_mut(), more) {
        answer.extend(more);
    }
}

/// The counts of our own test run.
pub(super) fn counted(tests: &TestRun) -> Value {
    let count = |outcome| tests.report.count(outcome);
    let (passed, failed, skipped) =
        (count(TestOutcome::Passed), count(TestOutcome::Failed), count(TestOutcome::Skipped));
    json!({"total": tests.report.cases.len(), "passed": passed, "failed": failed, "skipped": skipped})
}

/// The answer without a run.
pub(super) fn nothing() -> Value {
    Value::Object(Map::from_iter([
        ("active".to_owned(), json!(false)),
        ("message".to_owned(), json!("no autopilot run is in progress here")),
    ]))
}
