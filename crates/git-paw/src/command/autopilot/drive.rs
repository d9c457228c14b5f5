//! Drives a run until it ends or pauses, with the executor in the background or in a pane. Ctrl+C pauses it.

use paw_autopilot::drive::{ExecutorSetup, drive};
use paw_autopilot::engine::RunStage;
use paw_autopilot::executor::{ChildBackend, Executor};
use paw_autopilot::pane::{ExecutorPane, PaneSession};
use paw_autopilot::work::finish::FinalCommands;
use paw_autopilot::work::{ActiveRun, WorkError};
use paw_core::PawError;
use paw_host::process::end_children;
use paw_host::signals::ShutdownSignals;

use super::paused;
use super::progress::ProgressPrinter;

pub(super) fn run_to_end(
    work: &mut ActiveRun,
    executor: &Executor,
    commands: &FinalCommands,
    place: Option<PaneSession>,
    screen: &mut ProgressPrinter,
) -> Result<(), WorkError> {
    pause_on_signals(work)?;
    match place {
        Some(place) => in_pane(place, work, executor, commands, screen),
        None => drive(work, &mut ExecutorSetup { executor, backend: &mut ChildBackend }, commands, screen),
    }
}

fn in_pane(
    place: PaneSession,
    work: &mut ActiveRun,
    executor: &Executor,
    commands: &FinalCommands,
    screen: &mut ProgressPrinter,
) -> Result<(), WorkError> {
    let mut pane = ExecutorPane::new(place, work);
    if !matches!(work.run.stage, RunStage::Paused { .. }) {
        screen.in_pane(&pane.shown())?;
    }
    let driven = drive(work, &mut ExecutorSetup { executor, backend: &mut pane }, commands, screen);
    pane.end(match (&driven, &work.run.stage) {
        (Ok(()), RunStage::Done { .. }) => None,
        (Ok(()), _) => Some(paused::lines(work).join("\n")),
        (Err(error), _) => Some(error.to_string()),
    });
    driven
}

/// Ctrl+C and other termination signals pause the run. A second signal also kills its child processes.
fn pause_on_signals(work: &ActiveRun) -> Result<(), PawError> {
    let pause = work.pause.clone();
    let asked = move || {
        pause.raise();
        let _ = ShutdownSignals::on_first(|| {
            end_children();
        });
    };
    ShutdownSignals::on_first(asked)
}
