//! The hooks of the scripted agent, like those of an AI CLI.

use paw_core::PawError;
use paw_host::process::Command;
use serde_json::{Value, json};

use crate::context::Context;

/// Reports an event.
pub(super) fn report(event: &str, context: &Context) -> Result<(), PawError> {
    run(&json!({"hook_event_name": event}), context).map(drop)
}

/// Asks whether a command may run. Without an answer, the user has to decide.
pub(super) fn may_run(command: &str, context: &Context) -> Result<bool, PawError> {
    let input = json!({"command": command});
    let record = json!({"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": input});
    let answer: Value = serde_json::from_slice(&run(&record, context)?).unwrap_or_default();
    Ok(answer["hookSpecificOutput"]["decision"]["behavior"] == "allow")
}

/// Runs the same hook that git paw installs for other CLIs.
fn run(record: &Value, context: &Context) -> Result<Vec<u8>, PawError> {
    let program = paw_host::process::own_program()?;
    let mut record = record.clone();
    record["session_id"] = "demo".into();
    record["cwd"] = context.cwd.to_string_lossy().into();
    let hook = Command::new(program).args(["hook", "--cli", "claude"]).dir(&context.cwd);
    let ran = hook.input(record.to_string()).capture()?;
    Ok(ran.stdout)
}
