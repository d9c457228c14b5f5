//! `git paw autopilot status`

use clap::Args;
use paw_autopilot::artifacts::run_dir::find_latest;
use paw_autopilot::engine::pause::headline;
use paw_autopilot::engine::{Stage, StepOutcome, view as engine_view};
use paw_core::PawError;
use serde_json::{Value, json};

use super::{CommonArgs, run_at, view};
use crate::context::Context;
use crate::output::to_json;

/// Say where the run of this project stands
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot status\n  git paw autopilot status --json")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// Read without taking hold of the run, so that it can be asked for while somebody works on it.
pub(crate) fn status(context: &Context) -> Result<Value, PawError> {
    let site = run_at::site(context)?;
    let Some(dir) = find_latest(&site.project) else { return Ok(view::nothing()) };
    let Some(stored) = dir.load_checkpoint()? else { return Ok(view::nothing()) };
    let run = stored.run;
    let mut status = engine_view::status(&run);
    let waits_for_commit = stored.notes.proven && matches!(run.stage, Stage::Green { .. });
    if waits_for_commit {
        status.tdd_phase = Some("COMMIT");
    }
    let where_it_is = status.tdd_phase.unwrap_or(status.phase);
    let done = status.progress;
    let paused = headline(&run);
    let standing = match (&paused, run.is_over()) {
        (Some(_), _) => format!("{where_it_is}, paused"),
        (None, true) => status.phase.to_lowercase(),
        (None, false) => where_it_is.to_owned(),
    };
    let message = format!(
        "task {}: {} ({} of {} subtasks done), {standing}",
        run.order.task, run.order.title, done.completed, done.total
    );
    let mut answer = json!({"active": !run.is_over(), "message": message});
    view::add(&mut answer, to_json(&status)?);
    let steps: Vec<Value> = run
        .steps
        .iter()
        .map(|step| json!({"id": step.id, "title": step.title, "done": step.outcome != StepOutcome::Open}))
        .collect();
    let action = if waits_for_commit { "commit_changes" } else { engine_view::action_name(&run) };
    let more = json!({"title": run.order.title, "tag": run.order.tag, "subtasks": steps, "nextAction": action,
        "runId": dir.id.as_str()});
    view::add(&mut answer, more);
    if let Some(paused) = paused {
        answer["paused"] = json!(paused);
    }
    Ok(answer)
}
