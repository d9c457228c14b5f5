//! The record format that the hooks of several CLIs have in common: how it is read, and what is kept of it.

use serde_json::{Map, Value};

use super::{Deed, Event, MOST_INPUT, What, text};

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
const INPUT: [&str; 3] = ["command", "file_path", "notebook_path"];

pub(crate) fn read(record: &Value) -> Result<Event, &'static str> {
    let name = text(record, "hook_event_name")?;
    let what = match name.as_str() {
        "SessionStart" => What::Started { anew: record["source"] == "startup" },
        "UserPromptSubmit" => What::PromptTaken,
        "PreToolUse" => What::ToolBegins(deed(record)?),
        "PermissionRequest" => What::ApprovalAsked { id: None, deed: deed(record)? },
        "PostToolUse" | "PostToolUseFailure" | "PermissionDenied" => What::ToolEnded(deed(record)?),
        "Notification" => notice(record),
        "Stop" => What::TurnEnded,
        "StopFailure" => failure(record),
        "SubagentStart" => What::SubagentBegins,
        "SubagentStop" => What::SubagentEnded,
        "SessionEnd" => What::Ended,
        _ => What::Other(name),
    };
    Ok(Event { conversation: text(record, "session_id")?, what })
}

fn deed(record: &Value) -> Result<Deed, &'static str> {
    let tool = text(record, "tool_name")?;
    let input = &record["tool_input"];
    Ok(match tool.as_str() {
        "Bash" => Deed::Command(text(input, "command")?),
        "Write" | "Edit" | "MultiEdit" => Deed::Edit(vec![text(input, "file_path")?]),
        "NotebookEdit" => Deed::Edit(vec![text(input, "notebook_path")?]),
        "apply_patch" => Deed::Edit(patched(&text(input, "command")?)),
        "AskUserQuestion" | "ExitPlanMode" => Deed::Question,
        _ => Deed::Other(tool),
    })
}

/// The files that a patch of codex names, and where it moves them.
fn patched(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let file =
        |line: &str| MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(|name| name.trim().to_owned());
    patch.lines().filter_map(file).collect()
}

fn notice(record: &Value) -> What {
    match record["notification_type"].as_str() {
        Some("permission_prompt") => What::ApprovalReminder,
        Some("idle_prompt") => What::IdleReminder,
        other => What::Other(format!("Notification {}", other.unwrap_or_default())),
    }
}

fn failure(record: &Value) -> What {
    let reason = ["error_details", "error", "message"].iter().find_map(|field| match &record[*field] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    });
    let limited = record["error"].to_string().contains("rate_limit");
    What::TurnFailed { reason: reason.unwrap_or_default(), limited }
}

/// Only what can say something about the state.
pub(crate) fn shorten(record: &Value) -> Value {
    let kept = |from: &Value, names: &[&str]| -> Map<String, Value> {
        let field = |name: &&str| from.get(*name).map(|value| ((*name).to_owned(), value.clone()));
        names.iter().filter_map(field).collect()
    };
    let mut short = kept(record, &FIELDS);
    let input = Value::Object(kept(&record["tool_input"], &INPUT));
    if input.to_string().len() <= MOST_INPUT {
        short.insert("tool_input".to_owned(), input);
    } else if let Some(tool) = record["tool_name"].as_str() {
        // Half of a command would be another one.
        short.insert("tool_name".to_owned(), format!("{tool}, too long to keep").into());
    }
    for field in ["error", "error_details", "message"] {
        if short.get(field).is_some_and(|value| value.to_string().len() > MOST_INPUT) {
            short.shift_remove(field);
        }
    }
    Value::Object(short)
}
