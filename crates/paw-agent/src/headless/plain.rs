//! CLIs that answer in plain text: every line is text, and the exit code says how it went. They start anew each turn.

use std::ffi::OsString;

use super::{Dialect, Event, Facts, Turn, option, words};

pub(super) fn aider(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = words(["--message-file", "/dev/stdin", "--no-pretty", "--no-stream"]);
    arguments.extend(option("--model", turn.model));
    arguments
}

pub(super) fn amp(_: Turn<'_>) -> Vec<OsString> {
    words(["-x"])
}

pub(super) fn droid(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = words(["exec"]);
    arguments.extend(option("--model", turn.model));
    arguments
}

#[derive(Debug)]
pub(super) struct Plain;

impl Dialect for Plain {
    fn out(&mut self, line: &str) -> Vec<Event> {
        vec![Event::Text(format!("{line}\n"))]
    }

    fn facts(&self) -> Facts {
        Facts { verdict: Some(Ok(())), ..Facts::default() }
    }
}
