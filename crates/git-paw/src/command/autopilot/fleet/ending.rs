//! What became of a task: by the one document its process leaves behind, or by how that process ended.

use std::path::{Path, PathBuf};

use paw_host::process::Exit;
use serde_json::Value;

use super::super::words::line;

/// What Ctrl+C sends.
const INTERRUPT: i32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Done,
    /// It stands still, with its state and the reason.
    Paused,
    /// It could not begin, or its process died.
    Failed,
    /// What it depends on was not done.
    Skipped,
    /// We were asked to end.
    Interrupted,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) state: State,
    /// Why it is not done, or what else is to be said.
    pub(super) reason: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) commits: Option<u64>,
    pub(super) report: Option<PathBuf>,
    pub(super) pull_request: Option<String>,
    /// A run stands still there and can be resumed.
    pub(super) can_resume: bool,
}

impl Ending {
    pub(super) fn of(state: State, reason: impl Into<String>) -> Self {
        Self {
            state,
            reason: Some(reason.into()).filter(|reason: &String| !reason.is_empty()),
            branch: None,
            commits: None,
            report: None,
            pull_request: None,
            can_resume: false,
        }
    }
}

/// `said` is everything the process wrote to its standard output, `last` the last line beside it, `project` where it ran.
pub(super) fn read(exit: Exit, stopped: bool, said: &[u8], last: &str, project: &Path) -> Ending {
    let document = serde_json::from_slice::<Value>(said).unwrap_or_default();
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(line);
    if let Some(status) = text("/manifest/status") {
        let (state, reason) = match status.as_str() {
            "completed" => (State::Done, None),
            "paused" => (State::Paused, text("/paused/message")),
            _ if stopped => (State::Interrupted, None),
            other => (State::Failed, Some(format!("the run ended as {other}"))),
        };
        return Ending {
            branch: text("/manifest/branch"),
            commits: document.pointer("/manifest/totalCommits").and_then(Value::as_u64),
            report: text("/report").map(|report| project.join(report)),
            pull_request: text("/manifest/prUrl"),
            can_resume: state != State::Done,
            ..Ending::of(state, reason.unwrap_or_default())
        };
    }
    if let Some(message) = document.pointer("/error/message").and_then(Value::as_str) {
        let words: Vec<String> = message.lines().map(line).collect();
        return Ending::of(State::Failed, words.join("; "));
    }
    match exit {
        _ if stopped => Ending::of(State::Interrupted, "it was ended"),
        // Ctrl+C reaches everybody at the terminal, and a process may end before we hear of it.
        Exit::Signal(INTERRUPT) => Ending::of(State::Interrupted, "it was ended"),
        exit if last.is_empty() => Ending::of(State::Failed, format!("its process {exit}")),
        exit => Ending::of(State::Failed, format!("its process {exit}: {}", line(last))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(exit: Exit, stopped: bool, said: &str) -> (State, Option<String>, bool) {
        let ending = read(exit, stopped, said.as_bytes(), "last words", Path::new("/w"));
        (ending.state, ending.reason, ending.can_resume)
    }

    #[test]
    fn the_document_says_it_and_without_one_the_process_does() {
        let done = r#"{"manifest": {"status": "completed", "branch": "b", "totalCommits": 2, "prUrl": null}, "report": "r/"}"#;
        assert_eq!(of(Exit::Code(0), false, done), (State::Done, None, false));
        let whole = read(Exit::Code(0), false, done.as_bytes(), "", Path::new("/w"));
        assert_eq!((whole.commits, whole.branch.as_deref()), (Some(2), Some("b")));
        assert_eq!(whole.report, Some("/w/r/".into()));
        let paused = r#"{"manifest": {"status": "paused"}, "paused": {"message": "no\u001b[31m way"}}"#;
        assert_eq!(of(Exit::Code(1), false, paused), (State::Paused, Some("no way".into()), true));
        let error = r#"{"error": {"code": "X", "message": "cannot begin:\n- dirty"}}"#;
        assert_eq!(
            of(Exit::Code(1), false, error),
            (State::Failed, Some("cannot begin:; - dirty".into()), false)
        );
        assert_eq!(of(Exit::Signal(15), true, "").0, State::Interrupted);
        assert_eq!(of(Exit::Signal(2), false, "").0, State::Interrupted);
        let died = "its process was ended by signal 9: last words".to_owned();
        assert_eq!(of(Exit::Signal(9), false, "{\"manif"), (State::Failed, Some(died), false));
    }
}
