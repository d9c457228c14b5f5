//! Messages as JSON: samples of every type, and invalid messages.

use std::collections::BTreeSet;
use std::path::Path;

use paw_broker::{Message, MessageError};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn samples() -> Vec<(String, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut samples: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect();
    samples.sort_by(|(left, _), (right, _)| left.cmp(right));
    samples
}

fn read(value: &Value) -> Message {
    Message::parse(value.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn refuse(value: &Value) -> MessageError {
    Message::parse(value.to_string().as_bytes()).unwrap_err()
}

#[test]
fn every_message_type_survives_a_round_trip() {
    let mut seen = BTreeSet::new();
    for (name, sample) in samples() {
        let message = read(&sample);
        assert_eq!(message.to_json(), sample, "{name}");
        assert!(name.starts_with(message.type_name()), "{name}");
        seen.insert(message.type_name());
    }
    assert_eq!(seen, Message::TYPES.into());
}

#[test]
fn every_message_type_displays_as_one_line() {
    let lines: Vec<_> = samples().iter().map(|(_, sample)| format!("{}\n", read(sample))).collect();
    insta::assert_snapshot!(lines.concat(), @"
    [supervisor] advanced-main: feat/auth → main (3f2a9c1)
    [feat-auth] answer from operator (re: Shall sessions expire?): Yes, after an hour.
    [feat-auth] artifact: done — exports: fn login, struct Session
    [feat-auth] blocked: needs the User type from feat-model
    [feat-auth] feedback from supervisor: 2 errors
    [feat-auth] intent: 2 files for 900s — add login
    [supervisor] learning (stuck_duration/feat-auth): waited for the User type
    [feat-auth] question: Shall sessions expire?
    [feat-auth] status: working (2 files modified)
    [feat-auth] status: working (0 files modified)
    [feat-auth] status: working (0 files modified)
    [feat-auth] verified by hand, by supervisor — all gates passed
    [feat-auth] verify-now
    ");
}

#[test]
fn missing_lists_and_lifetimes_get_defaults() {
    let artifact = read(&json!({"type": "agent.artifact", "agent_id": "a", "payload": {"status": "done"}}));
    assert_eq!(artifact.to_json()["payload"], json!({"status": "done", "exports": [], "modified_files": []}));
    let intent =
        json!({"type": "agent.intent", "agent_id": "a", "payload": {"files": ["x"], "summary": "s"}});
    assert_eq!(read(&intent).to_json()["payload"]["valid_for_seconds"], 3600);
    let null = json!({"type": "agent.status", "agent_id": "a", "payload": {"status": "x", "message": null}});
    assert_eq!(read(&null).to_json()["payload"], json!({"status": "x"}));
}

#[test]
fn agent_ids_can_be_written_as_branches() {
    for (written, id) in
        [("feat/auth", "feat-auth"), ("Feat/My_Thing", "feat-my_thing"), ("main", "main"), ("a_b", "a_b")]
    {
        let status = json!({"type": "agent.status", "agent_id": written, "payload": {"status": "x"}});
        assert_eq!(read(&status).subject().as_str(), id);
    }
    for written in ["", " ", "<agent>", "a b", "a;b", "../x", "ä", "a\u{0}", "$(x)"] {
        let status = json!({"type": "agent.status", "agent_id": written, "payload": {"status": "x"}});
        refuse(&status);
    }
    let error = refuse(&json!({"type": "agent.status", "agent_id": "a b", "payload": {"status": "x"}}));
    let expected = json!({"error": "invalid agent_id", "value": "a b",
        "detail": "only a-z, 0-9, '-' and '_' are allowed"});
    assert_eq!(error.to_json(), expected);
}

#[test]
fn errors_name_blank_missing_and_invalid_fields() {
    let with = |name: &str, payload: Value| json!({"type": name, "agent_id": "a", "payload": payload});
    let table = [
        (with("agent.status", json!({})), "field 'payload.status' is missing"),
        (with("agent.status", json!({"status": " "})), "field 'payload.status' must not be blank"),
        (with("agent.status", json!({"status": 1})), "field 'payload.status' must be a string, not a number"),
        (
            with("agent.status", json!({"status": "x", "modified_files": "y"})),
            "field 'payload.modified_files' must be a list of strings, not a string",
        ),
        (
            with("agent.status", json!({"status": "x", "modified_files": ["y", 1]})),
            "field 'payload.modified_files[1]' must be a string, not a number",
        ),
        (with("agent.blocked", json!({"needs": "x"})), "field 'payload.from' is missing"),
        (with("agent.verified", json!({"verified_by": ""})), "field 'payload.verified_by' must not be blank"),
        (with("agent.feedback", json!({"from": "b"})), "field 'payload.errors' must not be empty"),
        (
            with("agent.intent", json!({"files": [], "summary": "s"})),
            "field 'payload.files' must not be empty",
        ),
        (
            with("agent.intent", json!({"files": [" "], "summary": "s"})),
            "field 'payload.files[0]' must not be blank",
        ),
        (
            with("agent.intent", json!({"files": ["x"], "summary": "s", "valid_for_seconds": 0})),
            "field 'payload.valid_for_seconds' must be more than 0",
        ),
        (
            with("agent.intent", json!({"files": ["x"], "summary": "s", "valid_for_seconds": -1})),
            "field 'payload.valid_for_seconds' must be a whole number, not a number",
        ),
        (
            with(
                "agent.intent",
                json!({"files": [{"path": "x", "regions": [{"kind": "range", "start_line": 9, "end_line": 3}]}], "summary": "s"}),
            ),
            "field 'payload.files[0].regions' has a range that ends before it starts",
        ),
        (with("agent.status", json!([])), "field 'payload' must be an object, not a list"),
        (json!({"type": "agent.status", "agent_id": "a"}), "field 'payload' is missing"),
        (json!({"agent_id": "a"}), "field 'type' is missing"),
        (json!({"type": "agent.status", "payload": {"status": "x"}}), "field 'agent_id' is missing"),
        (json!([1]), "a message must be a JSON object, not a list"),
        (
            json!({"type": "agent.advanced-main", "from": "supervisor", "merged_branch": "b", "new_main_sha": "s",
                "base": "main", "merged_at": "yesterday"}),
            "field 'merged_at' must be a time such as 2026-01-31T12:00:00Z",
        ),
    ];
    for (value, expected) in table {
        assert_eq!(refuse(&value).to_json()["error"], expected, "{value}");
    }
}

#[test]
fn an_unfilled_placeholder_is_refused_with_its_field() {
    let with = |name: &str, payload: Value| json!({"type": name, "agent_id": "a", "payload": payload});
    let table = [
        (with("agent.question", json!({"question": "<your question>"})), "question"),
        (with("agent.blocked", json!({"needs": " <what> ", "from": "b"})), "needs"),
        (with("agent.feedback", json!({"from": "b", "errors": ["real", "<error>"]})), "errors"),
        (with("agent.answer", json!({"from": "b", "answer": "<answer>"})), "answer"),
        (with("agent.answer", json!({"from": "b", "answer": "yes", "re": "<question>"})), "re"),
    ];
    for (value, field) in table {
        let error = refuse(&value).to_json();
        assert_eq!(error["error"], "field looks like an unfilled placeholder");
        assert_eq!(
            (error["field"].as_str(), error["detail"].as_str()),
            (Some(field), Some("substitute the real value before publishing"))
        );
    }
    read(&with("agent.question", json!({"question": "is a < b, or b > a?"})));
}

#[test]
fn the_error_for_an_unknown_type_lists_the_known_types() {
    let error = refuse(&json!({"type": "agent.song", "agent_id": "a", "payload": {}})).to_json();
    assert_eq!(error["known"], json!(Message::TYPES));
    assert!(error["error"].as_str().unwrap().starts_with("unknown message type 'agent.song'"));
}

#[test]
fn displayed_messages_contain_no_terminal_codes() {
    let question = "a\u{1b}[2Jb\r\nc\u{202e}d\u{7}e\u{9b}f";
    let line = read(&json!({"type": "agent.question", "agent_id": "a", "payload": {"question": question}}))
        .to_string();
    assert_eq!(line, "[a] question: a\u{fffd}[2Jb c\u{fffd}d\u{fffd}e\u{fffd}f");
}

#[test]
fn invalid_json_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested =
        format!("{{\"type\":\"agent.status\",\"agent_id\":\"a\",\"payload\":{}", "{\"a\":".repeat(5000));
    for bytes in
        [b"{".as_slice(), b"\xff\xfe", b"{\"type\":\"\\ud800\"}", b"nul", deep.as_bytes(), nested.as_bytes()]
    {
        assert!(matches!(Message::parse(bytes), Err(MessageError::Json(_))));
    }
    for bytes in [b"".as_slice(), b" \n\t"] {
        assert_eq!(Message::parse(bytes), Err(MessageError::Empty));
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("<x>")),
        Just(json!("a")),
    ];
    let name = prop_oneof![
        "[a-z_]{1,8}".boxed(),
        proptest::sample::select(vec![
            "status", "files", "regions", "kind", "path", "from", "errors", "summary", "type", "agent_id",
            "payload",
        ])
        .prop_map(str::to_owned)
        .boxed(),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_parse_as_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Err(error) = Message::parse(&bytes) {
            prop_assert!(error.to_json()["error"].is_string());
        }
    }

    #[test]
    fn any_payload_survives_a_round_trip_or_is_an_error(
        name in proptest::sample::select(Message::TYPES.to_vec()), agent in json_value(), payload in json_value(), more in json_value(),
    ) {
        let mut value = json!({"type": name, "agent_id": agent, "payload": payload});
        if let Value::Object(more) = more {
            value.as_object_mut().unwrap().extend(more.into_iter().filter(|(key, _)| key != "type"));
        }
        match Message::from_json(value) {
            Err(error) => prop_assert!(error.to_json()["error"].is_string()),
            Ok(message) => {
                prop_assert_eq!(&Message::from_json(message.to_json()).unwrap(), &message);
                prop_assert!(!message.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn unknown_fields_of_every_type_are_kept(
        extra in proptest::collection::vec(("x_[a-z]{1,6}", json_value()), 0..4), outside in any::<bool>(),
    ) {
        let extra: Map<String, Value> = extra.into_iter().collect();
        for (_, mut sample) in samples() {
            let level = if outside || sample.get("payload").is_none() { &mut sample } else { &mut sample["payload"] };
            level.as_object_mut().unwrap().extend(extra.clone());
            prop_assert_eq!(read(&sample).to_json(), sample);
        }
    }
}
