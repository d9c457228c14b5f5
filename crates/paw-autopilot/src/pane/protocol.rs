//! What a run and the process in its pane tell each other: one document on each line.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::executor::{Executor, ExecutorTask, TurnResult};

/// From the run to its pane.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum PaneRequest {
    /// One attempt.
    Work { executor: Executor, assignment: Box<ExecutorTask> },
    /// The last words; the pane stays to be read.
    End { words: String },
}

/// From the pane to its run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum PaneReply {
    /// A line of what the executor says.
    Said(String),
    Turned(TurnResult),
    /// There was no attempt.
    Failed(String),
}

pub(super) fn send(mut stream: &UnixStream, document: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Hands over what comes, until the other side is gone, sends something unreadable, or `heard` has enough.
pub(super) fn hear<T: DeserializeOwned>(stream: UnixStream, mut heard: impl FnMut(T) -> bool) {
    for line in BufReader::new(stream).split(b'\n') {
        let document = line.ok().and_then(|line| serde_json::from_slice(&line).ok());
        if !document.is_some_and(&mut heard) {
            break;
        }
    }
}
