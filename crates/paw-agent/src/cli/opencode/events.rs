//! The events of opencode, as our plugin passes them on.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::hooks::transcript::TranscriptUsage;
use crate::hooks::{HookEvent, HookEventKind, MAX_INPUT, ToolAction, text};

/// Text of errors that are rate limits.
const LIMITS: [&str; 5] = ["rate limit", "usage limit", "too many requests", "quota", "limit reached"];

/// The fields of an event that are stored, each as a path into the record.
const KEPT: [&[&str]; 20] = [
    &["type"],
    &["cwd"],
    &["properties", "sessionID"],
    &["properties", "id"],
    &["properties", "requestID"],
    &["properties", "reply"],
    &["properties", "permission"],
    &["properties", "status", "type"],
    &["properties", "status", "message"],
    &["properties", "status", "next"],
    &["properties", "info", "parentID"],
    &["properties", "error", "name"],
    &["properties", "error", "message"],
    &["properties", "error", "data", "message"],
    &["properties", "metadata", "filepath"],
    &["properties", "part", "tool"],
    &["properties", "part", "state", "status"],
    &["properties", "part", "state", "input", "filePath"],
    &["properties", "usage", "tokens"],
    &["properties", "usage", "cost_micros"],
];
/// The two command fields of an event, each with the field of its tool.
const COMMANDS: [(&[&str], &[&str]); 2] = [
    (&["properties", "metadata", "command"], &["properties", "permission"]),
    (&["properties", "part", "state", "input", "command"], &["properties", "part", "tool"]),
];

pub(super) fn read(record: &Value) -> Result<HookEvent, &'static str> {
    let name = text(record, "type")?;
    let properties = &record["properties"];
    let kind = match (name.as_str(), properties["status"]["type"].as_str()) {
        ("session.created", _) if properties["info"]["parentID"].is_string() => {
            HookEventKind::SubagentStarted
        }
        // The user started it, so it replaces the previous conversation.
        ("session.created", _) => HookEventKind::Started { fresh: false },
        ("session.status", Some("busy")) => HookEventKind::Busy,
        ("session.idle", _) | ("session.status", Some("idle")) => HookEventKind::TurnEnded,
        ("session.status", Some("retry")) => retry(&properties["status"]),
        ("session.error", _) => failure(&properties["error"]),
        ("permission.asked", _) => {
            HookEventKind::ApprovalRequested { id: Some(text(properties, "id")?), action: asked(properties)? }
        }
        ("permission.replied", _) => HookEventKind::ApprovalAnswered { id: text(properties, "requestID")? },
        ("question.asked", _) => HookEventKind::ApprovalRequested {
            id: Some(text(properties, "id")?),
            action: ToolAction::Question,
        },
        ("question.replied" | "question.rejected", _) => {
            HookEventKind::ApprovalAnswered { id: text(properties, "requestID")? }
        }
        ("message.part.updated", _) => tool(&properties["part"]),
        _ => HookEventKind::Other(name),
    };
    // Events of the server belong to no conversation.
    let conversation = properties["sessionID"].as_str().unwrap_or_default().to_owned();
    Ok(HookEvent { conversation, kind })
}

/// What a conversation has used, as the plugin adds it up. opencode reports no cost for a model without known prices.
pub(super) fn usage(record: &Value) -> Option<TranscriptUsage> {
    let used = record["properties"].get("usage")?;
    let positive = |field: &str| used[field].as_u64().filter(|count| *count > 0);
    Some(TranscriptUsage {
        context_tokens: positive("tokens"),
        total_tokens: None,
        cost_usd_micros: positive("cost_micros"),
    })
}

fn asked(properties: &Value) -> Result<ToolAction, &'static str> {
    let permission = text(properties, "permission")?;
    let metadata = &properties["metadata"];
    Ok(match permission.as_str() {
        "bash" => ToolAction::Command(text(metadata, "command")?),
        "edit" => edited(metadata)?.map_or(ToolAction::Other(permission), ToolAction::Edit),
        _ => ToolAction::Other(permission),
    })
}

/// Every file that an edit changes. A patch lists them, with the targets of moves. The `filepath` for people joins several
/// names with commas, which is ambiguous, so such an edit has no known files.
fn edited(metadata: &Value) -> Result<Option<Vec<String>>, &'static str> {
    if metadata["files"].is_null() {
        let file = text(metadata, "filepath")?;
        return Ok((!file.contains(", ")).then(|| vec![file]));
    }
    let mut touched = Vec::new();
    for file in metadata["files"].as_array().into_iter().flatten() {
        touched.push(text(file, "filePath")?);
        touched.extend(file["movePath"].as_str().map(str::to_owned));
    }
    Ok((!touched.is_empty()).then_some(touched))
}

/// opencode retries by itself. Only some retries are rate limits.
fn retry(status: &Value) -> HookEventKind {
    let reason = status["message"].as_str().unwrap_or_default().to_owned();
    if !is_limit(&reason) {
        return HookEventKind::Busy;
    }
    let next = status["next"].as_i64().and_then(|at| Timestamp::from_millisecond(at).ok());
    HookEventKind::RateLimited { reason, resets: next.map(|at| at.to_string()) }
}

fn failure(error: &Value) -> HookEventKind {
    let words = [&error["data"]["message"], &error["message"], &error["name"]];
    let reason = words.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned();
    HookEventKind::TurnFailed { limited: is_limit(&reason), reason }
}

fn is_limit(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    LIMITS.iter().any(|words| reason.contains(words))
}

/// A running tool is a part of a message.
fn tool(part: &Value) -> HookEventKind {
    let (tool, input) = (part["tool"].as_str(), &part["state"]["input"]);
    let action = || match (tool, input["command"].as_str(), input["filePath"].as_str()) {
        (Some("bash"), Some(command), _) => ToolAction::Command(command.to_owned()),
        (Some("edit" | "write"), _, Some(file)) => ToolAction::Edit(vec![file.to_owned()]),
        (tool, ..) => ToolAction::Other(tool.unwrap_or_default().to_owned()),
    };
    match part["state"]["status"].as_str() {
        Some("running") if tool.is_some() => HookEventKind::ToolStarted(action()),
        Some("completed" | "error") if tool.is_some() => HookEventKind::ToolEnded(action()),
        _ => HookEventKind::Other("message.part.updated".to_owned()),
    }
}

/// Keeps only the parts that affect the state.
pub(super) fn shorten(record: &Value) -> Value {
    let mut short = Value::Object(Map::new());
    for path in KEPT {
        keep(&mut short, path, find(record, path));
    }
    if let Some(files) = patched(&record["properties"]["metadata"]["files"]) {
        let too_long = "a tool, too long to keep".into();
        let (path, kept): (&[&str], _) = if files.to_string().len() <= MAX_INPUT {
            (&["properties", "metadata", "files"], &files)
        } else {
            (&["properties", "permission"], &too_long)
        };
        keep(&mut short, path, Some(kept));
    }
    for (command, tool) in COMMANDS {
        let found = find(record, command);
        match found.filter(|found| !is_small(found)) {
            Some(_) => keep(&mut short, tool, Some(&"a tool, too long to keep".into())),
            None => keep(&mut short, command, found),
        }
    }
    short
}

/// The file names of a patch, without their contents.
fn patched(files: &Value) -> Option<Value> {
    let named = |file: &Value| -> Map<String, Value> {
        let field = |name: &&str| file[*name].as_str().map(|path| ((*name).to_owned(), path.into()));
        ["filePath", "movePath"].iter().filter_map(field).collect()
    };
    let files = (!files.is_null()).then(|| files.as_array().map(Vec::as_slice).unwrap_or_default());
    files.map(|files| files.iter().map(|file| Value::Object(named(file))).collect())
}

fn find<'a>(record: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(record, |value, name| value.get(name)).filter(|found| {
        // Every stored field is a scalar.
        found.is_string() || found.is_number() || found.is_boolean()
    })
}

fn is_small(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.len() <= MAX_INPUT)
}

fn keep(short: &mut Value, path: &[&str], value: Option<&Value>) {
    let Some(value) = value.filter(|value| is_small(value)) else { return };
    let mut place = short;
    for name in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[*name];
    }
    *place = value.clone();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::cli;
    use crate::hooks::parse;

    #[test]
    fn shorten_keeps_the_fields_that_affect_the_state() {
        let asked = json!({"id": "evt_1", "type": "permission.asked", "cwd": "/w", "properties": {
            "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"],
            "metadata": {"command": "ls", "diff": "x"}, "always": ["ls *"]}});
        assert_eq!(
            shorten(&asked),
            json!({"type": "permission.asked", "cwd": "/w", "properties": {"sessionID": "ses_1", "id": "per_1",
                "permission": "bash", "metadata": {"command": "ls"}}})
        );
    }

    #[test]
    fn usage_is_kept_and_does_not_affect_the_state() {
        let record = json!({"type": "usage", "cwd": "/w", "properties": {"sessionID": "ses_1",
            "usage": {"tokens": 12_500, "cost_micros": 31_000}}});
        let kept = shorten(&record);
        let event = parse(cli::descriptor("opencode"), &kept.to_string()).unwrap();
        assert_eq!(event.kind, HookEventKind::Other("usage".to_owned()));
        let used = usage(&kept).unwrap();
        assert_eq!((used.context_tokens, used.cost_usd_micros), (Some(12_500), Some(31_000)));
        let free = usage(&json!({"properties": {"usage": {"tokens": 3, "cost_micros": 0}}})).unwrap();
        assert_eq!((free.context_tokens, free.cost_usd_micros), (Some(3), None));
        assert_eq!(usage(&json!({"type": "session.idle", "properties": {}})), None);
    }

    #[test]
    fn shorten_keeps_the_file_names_of_a_patch_without_contents() {
        let asked = |files: Value| {
            json!({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s", "permission": "edit",
                "metadata": {"filepath": "src/a.rs", "files": files}}})
        };
        let action = |files: Value| {
            let event = parse(cli::descriptor("opencode"), &shorten(&asked(files)).to_string()).unwrap();
            match event.kind {
                HookEventKind::ApprovalRequested { action, .. } => action,
                other => panic!("{other:?}"),
            }
        };
        let moved = json!([{"filePath": "src/a.rs", "movePath": ".claude/settings.json", "before": "x"}]);
        assert_eq!(action(moved), ToolAction::Edit(vec!["src/a.rs".into(), ".claude/settings.json".into()]));
        assert_eq!(action(json!([{"filePath": "src/a.rs"}])), ToolAction::Edit(vec!["src/a.rs".into()]));
        assert_eq!(action(Value::Null), ToolAction::Edit(vec!["src/a.rs".into()]));
        for odd in [json!([]), json!("src/b.rs"), json!(7)] {
            assert_eq!(action(odd), ToolAction::Other("edit".into()));
        }
        let many: Vec<_> = (0..9000).map(|n| json!({"filePath": format!("f{n}")})).collect();
        assert!(matches!(action(many.into()), ToolAction::Other(_)));
        let together = json!({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s",
            "permission": "edit", "metadata": {"filepath": "src/a.rs, .env"}}});
        let event = parse(cli::descriptor("opencode"), &together.to_string()).unwrap();
        assert!(matches!(event.kind, HookEventKind::ApprovalRequested { action: ToolAction::Other(_), .. }));
    }

    #[test]
    fn shorten_drops_a_command_that_is_too_long() {
        let long = "x".repeat(MAX_INPUT + 1);
        let asked = json!({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s",
            "permission": "bash", "metadata": {"command": long}}});
        let short = shorten(&asked);
        assert_eq!(short["properties"]["permission"], "a tool, too long to keep");
        assert!(short.to_string().len() < 1000);
        assert!(parse(cli::descriptor("opencode"), &short.to_string()).is_ok());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "(busy|retry|bash|edit|session.status|permission.asked|message.part.updated|running|[a-z]{0,4})"
                .prop_map(Value::from),
        ];
        let names = "(type|properties|status|metadata|command|part|state|input|tool|id|sessionID|permission|next|info)";
        leaf.prop_recursive(6, 64, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(names, inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_shortened_record_parses_to_the_same_event(record in values()) {
            let short = shorten(&record);
            let parsed = |record: &Value| parse(cli::descriptor("opencode"), &record.to_string()).ok();
            prop_assert_eq!(parsed(&record), parsed(&short));
            prop_assert_eq!(shorten(&short), short);
        }
    }
}
