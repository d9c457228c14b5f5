//! The hook record format that several CLIs share: reading and shortening it.

use serde_json::{Map, Value};

use super::{HookEvent, HookEventKind, MAX_INPUT, ToolAction, text};

const FIELDS: [&str; 11] = [
    "hook_event_name",
    "session_id",
    "source",
    "cwd",
    "tool_name",
    "notification_type",
    "error",
    "error_details",
    "message",
    "permission_mode",
    "transcript_path",
];
const INPUT: [&str; 4] = ["command", "dangerouslyDisableSandbox", "file_path", "notebook_path"];

pub(crate) fn read(record: &Value) -> Result<HookEvent, &'static str> {
    let name = text(record, "hook_event_name")?;
    let kind = match name.as_str() {
        "SessionStart" => HookEventKind::Started { fresh: record["source"] == "startup" },
        "UserPromptSubmit" => HookEventKind::PromptSubmitted,
        "PreToolUse" => HookEventKind::ToolStarted(action(record)?),
        "PermissionRequest" => HookEventKind::ApprovalRequested { id: None, action: action(record)? },
        "PostToolUse" | "PostToolUseFailure" | "PermissionDenied" => {
            HookEventKind::ToolEnded(action(record)?)
        }
        "Notification" => notice(record),
        "Stop" => HookEventKind::TurnEnded,
        "StopFailure" => failure(record),
        "SubagentStart" => HookEventKind::SubagentStarted,
        "SubagentStop" => HookEventKind::SubagentEnded,
        "SessionEnd" => HookEventKind::Ended,
        _ => HookEventKind::Other(name),
    };
    Ok(HookEvent { conversation: text(record, "session_id")?, kind })
}

fn action(record: &Value) -> Result<ToolAction, &'static str> {
    let tool = text(record, "tool_name")?;
    let input = &record["tool_input"];
    Ok(match tool.as_str() {
        // The user decides whether a command leaves the CLI's own sandbox.
        "Bash" if input["dangerouslyDisableSandbox"] == true => {
            ToolAction::Other("Bash outside of its sandbox".to_owned())
        }
        "Bash" => ToolAction::Command(text(input, "command")?),
        "Write" | "Edit" | "MultiEdit" => ToolAction::Edit(vec![text(input, "file_path")?]),
        "NotebookEdit" => ToolAction::Edit(vec![text(input, "notebook_path")?]),
        "apply_patch" => ToolAction::Edit(patched(&text(input, "command")?)),
        "AskUserQuestion" | "ExitPlanMode" => ToolAction::Question,
        _ => ToolAction::Other(tool),
    })
}

/// The files that a codex patch changes, including the targets of moves.
fn patched(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let file =
        |line: &str| MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(|name| name.trim().to_owned());
    patch.lines().filter_map(file).collect()
}

fn notice(record: &Value) -> HookEventKind {
    match record["notification_type"].as_str() {
        Some("permission_prompt") => HookEventKind::ApprovalReminder,
        Some("idle_prompt") => HookEventKind::IdleReminder,
        other => HookEventKind::Other(format!("Notification {}", other.unwrap_or_default())),
    }
}

fn failure(record: &Value) -> HookEventKind {
    let reason = ["error_details", "error", "message"].iter().find_map(|field| match &record[*field] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    });
    let limited = record["error"].to_string().contains("rate_limit");
    HookEventKind::TurnFailed { reason: reason.unwrap_or_default(), limited }
}

/// Keeps only the parts that affect the state.
pub(crate) fn shorten(record: &Value) -> Value {
    let kept = |from: &Value, names: &[&str]| -> Map<String, Value> {
        let field = |name: &&str| from.get(*name).map(|value| ((*name).to_owned(), value.clone()));
        names.iter().filter_map(field).collect()
    };
    let mut short = kept(record, &FIELDS);
    let input = Value::Object(kept(&record["tool_input"], &INPUT));
    if input.to_string().len() <= MAX_INPUT {
        short.insert("tool_input".to_owned(), input);
    } else if let Some(tool) = record["tool_name"].as_str() {
        // A truncated command would be a different one.
        short.insert("tool_name".to_owned(), format!("{tool}, too long to keep").into());
    }
    for field in ["error", "error_details", "message"] {
        if short.get(field).is_some_and(|value| value.to_string().len() > MAX_INPUT) {
            short.shift_remove(field);
        }
    }
    Value::Object(short)
}
