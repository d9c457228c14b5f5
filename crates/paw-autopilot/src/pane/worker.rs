//! The process in the pane: runs the executor, shows its output and reports to the run.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use paw_core::PawError;
use paw_host::process::end_marked;

use super::protocol::{self, PaneReply, PaneRequest};
use crate::executor::{Executor, ExecutorTask};

/// A text for the pane, not sanitized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneText<'a> {
    /// The heading of an attempt.
    Attempt(&'a str),
    /// A line of executor output.
    Line(&'a str),
    /// How an attempt ended.
    Ended(&'a str),
    /// The end of the run.
    End(&'a str),
}

type Show<'s> = &'s mut dyn FnMut(PaneText<'_>) -> Result<(), PawError>;

/// Serves the run at `socket` until it ends.
pub fn serve_run(socket: &Path, show: Show<'_>) -> Result<(), PawError> {
    let lost = |error: std::io::Error| PawError::internal(format!("cannot reach the run: {error}"));
    let stream = UnixStream::connect(socket).map_err(lost)?;
    let reader = stream.try_clone().map_err(lost)?;
    let (sender, orders) = mpsc::channel();
    thread::spawn(move || {
        let mut mark = None;
        protocol::receive(reader, |order: PaneRequest| {
            if let PaneRequest::Work { assignment, .. } = &order {
                mark = Some(assignment.mark.clone());
            }
            sender.send(order).is_ok()
        });
        // The run has ended, so stop its executor.
        if let Some(mark) = mark {
            end_marked(&mark);
        }
    });
    while let Ok(order) = orders.recv() {
        match order {
            PaneRequest::Work { executor, assignment } => {
                let answer = work(&executor, &assignment, &stream, show)?;
                if protocol::send(&stream, &answer).is_err() {
                    break;
                }
            }
            PaneRequest::End { words } => return show(PaneText::End(&words)),
        }
    }
    show(PaneText::End("the run has ended"))
}

fn work(
    executor: &Executor,
    assignment: &ExecutorTask,
    stream: &UnixStream,
    show: Show<'_>,
) -> Result<PaneReply, PawError> {
    let title = format!(
        "── {} {} attempt {} ({})",
        assignment.subtask, assignment.phase, assignment.attempt, executor.name
    );
    show(PaneText::Attempt(&title))?;
    let mut shown = Ok(());
    let turned = executor.work(assignment, &mut |line| {
        let result = show(PaneText::Line(line));
        if shown.is_ok() {
            shown = result;
        }
        // The reader thread notices when the run is gone.
        let _ = protocol::send(stream, &PaneReply::Said(line.to_owned()));
    });
    shown?;
    Ok(match turned {
        Ok(turned) => {
            let how = turned.complaint.clone().unwrap_or_else(|| turned.exit.to_string());
            show(PaneText::Ended(&how))?;
            PaneReply::Turned(turned)
        }
        Err(error) => PaneReply::Failed(error.to_string()),
    })
}
