//! The navigator process in the left pane.

use std::sync::Arc;
use std::thread;

use paw_core::PawError;
use paw_screen::autopilot::run::{NavigatorChannels, NavigatorExit, NavigatorTerminal};
use paw_screen::autopilot::{NavigatorEvent, NavigatorState};
use paw_screen::dashboard::Theme;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::executor_pane::{ExecutorPane, OrderError};
use super::file_watch::FileWatch;
use super::project_reader::ProjectReader;
use crate::context::Context;

/// Capacity of the queue of updates.
const NEWS: usize = 64;
/// Capacity of the queue of orders.
const ORDERS: usize = 8;

pub(super) fn run(
    pane: ExecutorPane,
    reader: ProjectReader,
    in_session: bool,
    context: &Context,
) -> Result<(), PawError> {
    let pane = Arc::new(pane);
    pane.open()?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| PawError::internal(format!("cannot start the navigator: {error}")))?;
    let (news, received) = mpsc::channel(NEWS);
    let (orders, mut wanted) = mpsc::channel(ORDERS);
    let _following = FileWatch::start(reader, news.clone())
        .map_err(|error| PawError::internal(format!("cannot follow the run: {error}")))?;
    let carrier = Arc::clone(&pane);
    thread::spawn(move || {
        while let Some(order) = wanted.blocking_recv() {
            let said = match carrier.carry_out(&order) {
                Ok(text) => NavigatorEvent::CommandResult { text, alarming: false },
                Err(OrderError(text)) => NavigatorEvent::CommandResult { text, alarming: true },
            };
            // Drop orders that were given before the user saw this result.
            while wanted.try_recv().is_ok() {}
            if news.blocking_send(said).is_err() {
                break;
            }
        }
    });
    let mut state = NavigatorState::new(Theme::of_environment(|name| std::env::var(name).ok()));
    let mut channels = NavigatorChannels { events: received, commands: orders };
    let left = show(&pane, &mut state, &mut channels, in_session, &runtime);
    runtime.shutdown_background();
    if let Some(words) = left? {
        context.output.say(&words)?;
    }
    Ok(())
}

/// Shows the view until the user quits. Returns the message to print.
fn show(
    pane: &ExecutorPane,
    state: &mut NavigatorState,
    channels: &mut NavigatorChannels,
    in_session: bool,
    runtime: &tokio::runtime::Runtime,
) -> Result<Option<String>, PawError> {
    let _inside = runtime.enter();
    let mut view = NavigatorTerminal::open()?;
    loop {
        if runtime.block_on(view.run(state, channels))? == NavigatorExit::Stopped {
            return Ok(None);
        }
        let Some(program) = pane.close()? else { return Ok(None) };
        if !in_session {
            return Ok(Some(match state.running_task() {
                Some(task) => format!("task {task} continues in the other pane"),
                None => format!("the other pane stays open: '{program}' is running there"),
            }));
        }
        pane.detach()?;
    }
}
