//! Runs a program with a time limit.

use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use paw_host::process::{Exit, ProcessError, RunningCommand, Stream};

/// Follows a program until it ends, exceeds the limit, or `on_line` stops it. Kills everything it started in the
/// latter cases. A program stopped by `on_line` ends with SIGTERM.
pub(crate) fn follow_with_limit(
    running: RunningCommand,
    limit: Duration,
    on_line: impl FnMut(Stream, &[u8]) -> ControlFlow<()>,
) -> Result<Exit, ProcessError> {
    let stopper = running.stopper();
    let (done, waiting) = mpsc::channel::<()>();
    let timer = thread::spawn(move || {
        let late = waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if late {
            stopper.stop();
        }
        late
    });
    let followed = running.follow(on_line);
    drop(done);
    let late = timer.join().unwrap_or(false);
    let followed = followed?;
    Ok(match (followed.stopped, late) {
        (true, true) => Exit::TimedOut { limit },
        (true, false) => Exit::Signal(15),
        (false, _) => followed.exit,
    })
}
