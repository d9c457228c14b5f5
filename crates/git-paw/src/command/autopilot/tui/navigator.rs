//! The process on the left.

use std::sync::Arc;
use std::thread;

use paw_core::PawError;
use paw_screen::autopilot::run::{End, Stage, Wires};
use paw_screen::autopilot::{Event, State};
use paw_screen::dashboard::Look;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::executor_pane::{ExecutorPane, Refused};
use super::follow::Following;
use super::picture::Reader;
use crate::context::Context;

/// News that wait for a busy screen.
const NEWS: usize = 64;
/// Orders on their way.
const ORDERS: usize = 8;

pub(super) fn run(
    pane: ExecutorPane,
    reader: Reader,
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
    let _following = Following::start(reader, news.clone())
        .map_err(|error| PawError::internal(format!("cannot follow the run: {error}")))?;
    let carrier = Arc::clone(&pane);
    thread::spawn(move || {
        while let Some(order) = wanted.blocking_recv() {
            let said = match carrier.carry_out(&order) {
                Ok(text) => Event::Said { text, alarming: false },
                Err(Refused(text)) => Event::Said { text, alarming: true },
            };
            // What was asked for meanwhile was asked by somebody who could not know.
            while wanted.try_recv().is_ok() {}
            if news.blocking_send(said).is_err() {
                break;
            }
        }
    });
    let mut state = State::new(Look::of_environment(|name| std::env::var(name).ok()));
    let mut wires = Wires { news: received, orders };
    let left = show(&pane, &mut state, &mut wires, in_session, &runtime);
    runtime.shutdown_background();
    if let Some(words) = left? {
        context.output.say(&words)?;
    }
    Ok(())
}

/// Shows the view until somebody leaves. Returns what is to be said then.
fn show(
    pane: &ExecutorPane,
    state: &mut State,
    wires: &mut Wires,
    in_session: bool,
    runtime: &tokio::runtime::Runtime,
) -> Result<Option<String>, PawError> {
    let _inside = runtime.enter();
    let mut view = Stage::open()?;
    loop {
        if runtime.block_on(view.play(state, wires))? == End::Stopped {
            return Ok(None);
        }
        let Some(program) = pane.close()? else { return Ok(None) };
        if !in_session {
            return Ok(Some(match state.running_task() {
                Some(task) => format!("task {task} goes on in the other pane"),
                None => format!("the other pane stays: '{program}' is running there"),
            }));
        }
        pane.detach()?;
    }
}
