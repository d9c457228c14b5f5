//! What is kept of a record: only what can say something about the state.

use serde_json::{Map, Value};

/// What a tool is given is not kept beyond this.
const MOST_INPUT: usize = 32 * 1024;

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

/// Of opencode's events, each a way into the record.
const KEPT: [&[&str]; 18] = [
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
];
/// The two commands of an event, and where it says what kind of tool they are for.
const COMMANDS: [(&[&str], &[&str]); 2] = [
    (&["properties", "metadata", "command"], &["properties", "permission"]),
    (&["properties", "part", "state", "input", "command"], &["properties", "part", "tool"]),
];

pub(super) fn shortened(cli: &str, record: &Value) -> Value {
    if cli == "opencode" { event(record) } else { hook(record) }
}

fn hook(record: &Value) -> Value {
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

fn event(record: &Value) -> Value {
    let mut short = Value::Object(Map::new());
    for way in KEPT {
        keep(&mut short, way, find(record, way));
    }
    if let Some(files) = patched(&record["properties"]["metadata"]["files"]) {
        let too_long = "a tool, too long to keep".into();
        let (way, kept): (&[&str], _) = if files.to_string().len() <= MOST_INPUT {
            (&["properties", "metadata", "files"], &files)
        } else {
            (&["properties", "permission"], &too_long)
        };
        keep(&mut short, way, Some(kept));
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

/// The files of a patch by name, without what is changed in them.
fn patched(files: &Value) -> Option<Value> {
    let named = |file: &Value| -> Map<String, Value> {
        let field = |name: &&str| file[*name].as_str().map(|path| ((*name).to_owned(), path.into()));
        ["filePath", "movePath"].iter().filter_map(field).collect()
    };
    let files = (!files.is_null()).then(|| files.as_array().map(Vec::as_slice).unwrap_or_default());
    files.map(|files| files.iter().map(|file| Value::Object(named(file))).collect())
}

fn find<'a>(record: &'a Value, way: &[&str]) -> Option<&'a Value> {
    way.iter().try_fold(record, |value, name| value.get(name)).filter(|found| {
        // Whatever is more than a word has no place in any of these.
        found.is_string() || found.is_number() || found.is_boolean()
    })
}

fn is_small(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.len() <= MOST_INPUT)
}

fn keep(short: &mut Value, way: &[&str], value: Option<&Value>) {
    let Some(value) = value.filter(|value| is_small(value)) else { return };
    let mut place = short;
    for name in way {
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
    use crate::hooks::{Deed, What, parse};

    #[test]
    fn an_event_of_opencode_keeps_what_says_something() {
        let asked = json!({"id": "evt_1", "type": "permission.asked", "cwd": "/w", "properties": {
            "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"],
            "metadata": {"command": "ls", "diff": "x"}, "always": ["ls *"]}});
        assert_eq!(
            shortened("opencode", &asked),
            json!({"type": "permission.asked", "cwd": "/w", "properties": {"sessionID": "ses_1", "id": "per_1",
                "permission": "bash", "metadata": {"command": "ls"}}})
        );
    }

    #[test]
    fn a_patch_keeps_every_file_it_touches_and_nothing_of_what_it_changes() {
        let asked = |files: Value| {
            json!({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s", "permission": "edit",
                "metadata": {"filepath": "src/a.rs", "files": files}}})
        };
        let deed = |files: Value| {
            let event = parse("opencode", &shortened("opencode", &asked(files)).to_string()).unwrap();
            match event.what {
                What::ApprovalAsked { deed, .. } => deed,
                other => panic!("{other:?}"),
            }
        };
        let moved = json!([{"filePath": "src/a.rs", "movePath": ".claude/settings.json", "before": "x"}]);
        assert_eq!(deed(moved), Deed::Edit(vec!["src/a.rs".into(), ".claude/settings.json".into()]));
        assert_eq!(deed(json!([{"filePath": "src/a.rs"}])), Deed::Edit(vec!["src/a.rs".into()]));
        assert_eq!(deed(Value::Null), Deed::Edit(vec!["src/a.rs".into()]));
        for odd in [json!([]), json!("src/b.rs"), json!(7)] {
            assert_eq!(deed(odd), Deed::Other("edit".into()));
        }
        let many: Vec<_> = (0..9000).map(|n| json!({"filePath": format!("f{n}")})).collect();
        assert!(matches!(deed(many.into()), Deed::Other(_)));
        let together = json!({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s",
            "permission": "edit", "metadata": {"filepath": "src/a.rs, .env"}}});
        let event = parse("opencode", &together.to_string()).unwrap();
        assert!(matches!(event.what, What::ApprovalAsked { deed: Deed::Other(_), .. }));
    }

    #[test]
    fn a_command_that_is_too_long_is_not_kept_in_part() {
        let long = "x".repeat(MOST_INPUT + 1);
        let asked = json!({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s",
            "permission": "bash", "metadata": {"command": long}}});
        let short = shortened("opencode", &asked);
        assert_eq!(short["properties"]["permission"], "a tool, too long to keep");
        assert!(short.to_string().len() < 1000);
        assert!(parse("opencode", &short.to_string()).is_ok());
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
        fn what_is_kept_of_any_record_says_the_same(record in values()) {
            let short = shortened("opencode", &record);
            let said = |record: &Value| parse("opencode", &record.to_string()).ok();
            prop_assert_eq!(said(&record), said(&short));
            prop_assert_eq!(shortened("opencode", &short), short);
        }
    }
}
