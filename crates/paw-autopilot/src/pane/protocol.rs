//! The protocol between a run and its pane: one JSON document per line.

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
    /// The run has ended; the pane stays open.
    End { words: String },
}

/// From the pane to its run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum PaneReply {
    /// A line of executor output.
    Said(String),
    Turned(TurnResult),
    /// The attempt could not start.
    Failed(String),
}

pub(super) fn send(mut stream: &UnixStream, document: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Passes on documents until the peer disconnects, sends invalid data, or `heard` returns false.
pub(super) fn receive<T: DeserializeOwned>(stream: UnixStream, mut on_document: impl FnMut(T) -> bool) {
    for line in BufReader::new(stream).split(b'\n') {
        let document = line.ok().and_then(|line| serde_json::from_slice(&line).ok());
        if !document.is_some_and(&mut on_document) {
            break;
        }
    }
}
