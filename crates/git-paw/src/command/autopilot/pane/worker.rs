//! The process in the pane of a run: it lets the executor work, shows what it says, and tells the run.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use clap::Args;
use paw_autopilot::executor::{Assignment, Executor};
use paw_core::PawError;
use paw_host::process::end_marked;
use paw_screen::text::Text;

use super::wire::{self, Answer, Order};
use crate::context::Context;
use crate::output::Style;

pub(super) const COMMAND: &str = "__executor-pane";

/// Let executors work here, as a run says
#[derive(Debug, Args)]
pub(crate) struct ExecutorPaneArgs {
    /// Where the run listens
    socket: PathBuf,
}

pub(crate) fn run(args: &ExecutorPaneArgs, context: &Context) -> Result<(), PawError> {
    let lost = |error: std::io::Error| PawError::internal(format!("cannot reach the run: {error}"));
    let stream = UnixStream::connect(&args.socket).map_err(lost)?;
    let reader = stream.try_clone().map_err(lost)?;
    let (sender, orders) = mpsc::channel();
    thread::spawn(move || {
        let mut mark = None;
        wire::hear(reader, |order: Order| {
            if let Order::Work { assignment, .. } = &order {
                mark = Some(assignment.mark.clone());
            }
            sender.send(order).is_ok()
        });
        // The run is gone, and nobody would look at what is done for it.
        if let Some(mark) = mark {
            end_marked(&mark);
        }
    });
    while let Ok(order) = orders.recv() {
        match order {
            Order::Work { executor, assignment } => {
                let answer = work(&executor, &assignment, &stream, context)?;
                if wire::send(&stream, &answer).is_err() {
                    break;
                }
            }
            Order::End { words } => return context.output.say(&Text::new(&words).to_string()),
        }
    }
    context.output.say("the run has ended")
}

fn work(
    executor: &Executor,
    order: &Assignment,
    stream: &UnixStream,
    context: &Context,
) -> Result<Answer, PawError> {
    let output = context.output;
    let title = format!("── {} {} attempt {} ({})", order.subtask, order.phase, order.attempt, executor.name);
    output.say(&output.paint(Style::Bold, &Text::line(&title).to_string()))?;
    let mut shown = Ok(());
    let turned = executor.work(order, &mut |line| {
        let said = output.say(&Text::new(line).to_string());
        if shown.is_ok() {
            shown = said;
        }
        // A run that is gone is noticed by whoever listens to it.
        let _ = wire::send(stream, &Answer::Said(line.to_owned()));
    });
    shown?;
    Ok(match turned {
        Ok(turned) => {
            let how = turned.complaint.clone().unwrap_or_else(|| turned.exit.to_string());
            output.say(&output.paint(Style::Dim, &format!("── {}; the tests are run", Text::line(&how))))?;
            Answer::Turned(turned)
        }
        Err(error) => Answer::Failed(error.to_string()),
    })
}
