//! `git paw autopilot status`

use clap::Args;
use paw_autopilot::artifacts::run_dir::find_latest;
use paw_autopilot::engine::pause::headline;
use paw_autopilot::engine::{RunStage, StepOutcome, view as engine_view};
use paw_core::PawError;
use serde_json::{Value, json};

use super::{JsonArgs, answer, current_run};
use crate::context::Context;
use crate::output::to_json;

/// Show the status of this project's run
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot status\n  git paw autopilot status --json")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

/// Reads the run without its lock, so that it works while the run is in progress.
pub(crate) fn status(context: &Context) -> Result<Value, PawError> {
    let site = current_run::site(context)?;
    let Some(dir) = find_latest(&site.project) else { return Ok(answer::nothing()) };
    let Some(stored) = dir.load_checkpoint()? else { return Ok(answer::nothing()) };
    let run = stored.run;
    let mut status = engine_view::status(&run);
    let commit_pending = stored.notes.proven && matches!(run.stage, RunStage::Green { .. });
    if commit_pending {
        status.tdd_phase = Some("COMMIT");
    }
    let phase_name = status.tdd_phase.unwrap_or(status.phase);
    let done = status.progress;
    let paused = headline(&run);
    let state = match (&paused, run.is_over()) {
        (Some(_), _) => format!("{phase_name}, paused"),
        (None, true) => status.phase.to_lowercase(),
        (None, false) => phase_name.to_owned(),
    };
    let message = format!(
        "task {}: {} ({} of {} subtasks done), {state}",
        run.request.task, run.request.title, done.completed, done.total
    );
    let mut answer = json!({"active": !run.is_over(), "message": message});
    answer::add(&mut answer, to_json(&status)?);
    let steps: Vec<Value> = run
        .steps
        .iter()
        .map(|step| json!({"id": step.id, "title": step.title, "done": step.outcome != StepOutcome::Open}))
        .collect();
    let action = if commit_pending { "commit_changes" } else { engine_view::action_name(&run) };
    let more = json!({"title": run.request.title, "tag": run.request.tag, "subtasks": steps, "nextAction": action,
        "runId": dir.id.as_str()});
    answer::add(&mut answer, more);
    if let Some(paused) = paused {
        answer["paused"] = json!(paused);
    }
    Ok(answer)
}
