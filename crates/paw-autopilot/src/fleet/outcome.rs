//! The result of a task, read from the JSON its process prints, or from the process's exit.

use std::path::{Path, PathBuf};

use paw_host::process::Exit;
use serde_json::Value;

/// SIGINT, which Ctrl+C sends.
const INTERRUPT: i32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    Done,
    /// Paused with a reason; it can be resumed.
    Paused,
    /// It could not start, or its process died.
    Failed,
    /// A dependency was not done.
    Skipped,
    /// The user stopped the fleet.
    Interrupted,
}

impl TaskState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The result of a task. Texts come from its process and are not sanitized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOutcome {
    pub state: TaskState,
    /// Why it is not done, or an extra note.
    pub reason: Option<String>,
    pub branch: Option<String>,
    pub commits: Option<u64>,
    pub report: Option<PathBuf>,
    pub pull_request: Option<String>,
    /// A paused run can be resumed in its worktree.
    pub can_resume: bool,
}

impl TaskOutcome {
    pub(super) fn of(state: TaskState, reason: impl Into<String>) -> Self {
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

/// Reads the result. `stdout` is everything the process printed, `last` its last line on stderr, `project` its
/// directory.
pub(super) fn read_outcome(
    exit: Exit,
    stopped: bool,
    stdout: &[u8],
    last: &str,
    project: &Path,
) -> TaskOutcome {
    let document = serde_json::from_slice::<Value>(stdout).unwrap_or_default();
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(one_line);
    if let Some(status) = text("/manifest/status") {
        let (state, reason) = match status.as_str() {
            "completed" => (TaskState::Done, None),
            "paused" => (TaskState::Paused, text("/paused/message")),
            _ if stopped => (TaskState::Interrupted, None),
            other => (TaskState::Failed, Some(format!("the run ended as {other}"))),
        };
        return TaskOutcome {
            branch: text("/manifest/branch"),
            commits: document.pointer("/manifest/totalCommits").and_then(Value::as_u64),
            report: text("/report").map(|report| project.join(report)),
            pull_request: text("/manifest/prUrl"),
            can_resume: state != TaskState::Done,
            ..TaskOutcome::of(state, reason.unwrap_or_default())
        };
    }
    if let Some(message) = document.pointer("/error/message").and_then(Value::as_str) {
        return TaskOutcome::of(TaskState::Failed, one_line(message));
    }
    match exit {
        _ if stopped => TaskOutcome::of(TaskState::Interrupted, "stopped"),
        // Ctrl+C reaches every process of the terminal, so the child may end before the fleet gets the signal.
        Exit::Signal(INTERRUPT) => TaskOutcome::of(TaskState::Interrupted, "stopped"),
        exit if last.is_empty() => TaskOutcome::of(TaskState::Failed, format!("its process {exit}")),
        exit => TaskOutcome::of(TaskState::Failed, format!("its process {exit}: {last}")),
    }
}

/// Joins lines with semicolons.
fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(exit: Exit, stopped: bool, stdout: &str) -> (TaskState, Option<String>, bool) {
        let outcome = read_outcome(exit, stopped, stdout.as_bytes(), "last words", Path::new("/w"));
        (outcome.state, outcome.reason, outcome.can_resume)
    }

    #[test]
    fn task_outcome_is_read_from_json_else_from_the_exit() {
        let done = r#"{"manifest": {"status": "completed", "branch": "b", "totalCommits": 2, "prUrl": null}, "report": "r/"}"#;
        assert_eq!(of(Exit::Code(0), false, done), (TaskState::Done, None, false));
        let whole = read_outcome(Exit::Code(0), false, done.as_bytes(), "", Path::new("/w"));
        assert_eq!((whole.commits, whole.branch.as_deref()), (Some(2), Some("b")));
        assert_eq!(whole.report, Some("/w/r/".into()));
        let paused = r#"{"manifest": {"status": "paused"}, "paused": {"message": "no\nway"}}"#;
        assert_eq!(of(Exit::Code(1), false, paused), (TaskState::Paused, Some("no; way".into()), true));
        let error = r#"{"error": {"code": "X", "message": "cannot start:\n- dirty"}}"#;
        assert_eq!(
            of(Exit::Code(1), false, error),
            (TaskState::Failed, Some("cannot start:; - dirty".into()), false)
        );
        assert_eq!(of(Exit::Signal(15), true, "").0, TaskState::Interrupted);
        assert_eq!(of(Exit::Signal(2), false, "").0, TaskState::Interrupted);
        let died = "its process was killed by signal 9: last words".to_owned();
        assert_eq!(of(Exit::Signal(9), false, "{\"manif"), (TaskState::Failed, Some(died), false));
    }
}
