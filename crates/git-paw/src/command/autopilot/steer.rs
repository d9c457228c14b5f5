//! A run driven to where it ends or stands still, with the executor where it was wished, and with an ear for Ctrl+C.

use paw_autopilot::drive::{Hands, drive};
use paw_autopilot::engine::Stage;
use paw_autopilot::executor::{Aside, Executor};
use paw_autopilot::pane::{ExecutorPane, PaneSession};
use paw_autopilot::work::finish::FinalCommands;
use paw_autopilot::work::{Work, WorkError};
use paw_core::PawError;
use paw_host::process::end_children;
use paw_host::signals::EndSignals;

use super::paused;
use super::show::Screen;

pub(super) fn to_the_end(
    work: &mut Work,
    executor: &Executor,
    commands: &FinalCommands,
    place: Option<PaneSession>,
    screen: &mut Screen,
) -> Result<(), WorkError> {
    pause_on_signals(work)?;
    match place {
        Some(place) => in_pane(place, work, executor, commands, screen),
        None => drive(work, &mut Hands { executor, place: &mut Aside }, commands, screen),
    }
}

fn in_pane(
    place: PaneSession,
    work: &mut Work,
    executor: &Executor,
    commands: &FinalCommands,
    screen: &mut Screen,
) -> Result<(), WorkError> {
    let mut pane = ExecutorPane::new(place, work);
    if !matches!(work.run.stage, Stage::Paused { .. }) {
        screen.in_pane(&pane.shown())?;
    }
    let driven = drive(work, &mut Hands { executor, place: &mut pane }, commands, screen);
    pane.end(match (&driven, &work.run.stage) {
        (Ok(()), Stage::Done { .. }) => None,
        (Ok(()), _) => Some(paused::lines(work).join("\n")),
        (Err(error), _) => Some(error.to_string()),
    });
    driven
}

/// Ctrl+C and whatever else asks to end pauses the run with that reason. Asked twice, nothing it waits for is spared.
fn pause_on_signals(work: &Work) -> Result<(), PawError> {
    let wish = work.pause.clone();
    let asked = move || {
        wish.raise();
        let _ = EndSignals::on_first(|| {
            end_children();
        });
    };
    EndSignals::on_first(asked)
}
