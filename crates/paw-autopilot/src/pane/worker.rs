//! The process in the pane of a run: it lets the executor work, shows what it says, and tells the run.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use paw_core::PawError;
use paw_host::process::end_marked;

use super::wire::{self, Answer, Order};
use crate::executor::{Assignment, Executor};

/// What the pane shows. Texts are as the executor wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// The heading of an attempt.
    Attempt(&'a str),
    /// A line of what the executor says.
    Line(&'a str),
    /// How an attempt ended.
    Ended(&'a str),
    /// The last words of the run.
    End(&'a str),
}

type Show<'s> = &'s mut dyn FnMut(Shown<'_>) -> Result<(), PawError>;

/// Does what the run at `socket` orders, until the run ends.
pub fn work_for_run(socket: &Path, show: Show<'_>) -> Result<(), PawError> {
    let lost = |error: std::io::Error| PawError::internal(format!("cannot reach the run: {error}"));
    let stream = UnixStream::connect(socket).map_err(lost)?;
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
        // The run is gone, so what is done for it would have no use.
        if let Some(mark) = mark {
            end_marked(&mark);
        }
    });
    while let Ok(order) = orders.recv() {
        match order {
            Order::Work { executor, assignment } => {
                let answer = work(&executor, &assignment, &stream, show)?;
                if wire::send(&stream, &answer).is_err() {
                    break;
                }
            }
            Order::End { words } => return show(Shown::End(&words)),
        }
    }
    show(Shown::End("the run has ended"))
}

fn work(
    executor: &Executor,
    order: &Assignment,
    stream: &UnixStream,
    show: Show<'_>,
) -> Result<Answer, PawError> {
    let title = format!("── {} {} attempt {} ({})", order.subtask, order.phase, order.attempt, executor.name);
    show(Shown::Attempt(&title))?;
    let mut shown = Ok(());
    let turned = executor.work(order, &mut |line| {
        let said = show(Shown::Line(line));
        if shown.is_ok() {
            shown = said;
        }
        // A run that is gone is noticed by the thread that listens to it.
        let _ = wire::send(stream, &Answer::Said(line.to_owned()));
    });
    shown?;
    Ok(match turned {
        Ok(turned) => {
            let how = turned.complaint.clone().unwrap_or_else(|| turned.exit.to_string());
            show(Shown::Ended(&how))?;
            Answer::Turned(turned)
        }
        Err(error) => Answer::Failed(error.to_string()),
    })
}
