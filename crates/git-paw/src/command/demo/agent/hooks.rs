//! What the scripted agent tells through hooks, as an AI CLI would, and what it is answered.

use paw_core::PawError;
use paw_host::process::Command;
use serde_json::{Value, json};

use crate::context::Context;

/// Tells that something happens.
pub(super) fn tell(event: &str, context: &Context) -> Result<(), PawError> {
    run(&json!({"hook_event_name": event}), context).map(drop)
}

/// Asks whether a command may be run. No answer means that a person has to say so.
pub(super) fn may_run(command: &str, context: &Context) -> Result<bool, PawError> {
    let input = json!({"command": command});
    let record = json!({"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": input});
    let answer: Value = serde_json::from_slice(&run(&record, context)?).unwrap_or_default();
    Ok(answer["hookSpecificOutput"]["decision"]["behavior"] == "allow")
}

/// Runs the very hook that is put into the worktrees of other CLIs.
fn run(record: &Value, context: &Context) -> Result<Vec<u8>, PawError> {
    let program = paw_host::process::own_program()?;
    let mut record = record.clone();
    record["session_id"] = "demo".into();
    record["cwd"] = context.cwd.to_string_lossy().into();
    let hook = Command::new(program).args(["hook", "--cli", "claude"]).dir(&context.cwd);
    let ran = hook.input(record.to_string()).capture()?;
    Ok(ran.stdout)
}
