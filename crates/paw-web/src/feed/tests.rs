use std::path::PathBuf;

use paw_broker::{Message, SessionId, StoredMessage};
use paw_core::AgentId;
use paw_view::{AgentState, Observation, SessionFacts, StateSource};

use super::*;

fn stored(seq: u64, message: Value) -> ViewEvent {
    let message = Message::from_json(message).unwrap();
    let (at, sender) = (Timestamp::UNIX_EPOCH, message.subject().clone());
    ViewEvent::Message(Arc::new(StoredMessage { seq, at, session: SessionId::new("s"), sender, message }))
}

fn status(seq: u64, agent: &str, text: &str) -> ViewEvent {
    let payload = json!({"status": "working", "message": text});
    stored(seq, json!({"type": "agent.status", "agent_id": agent, "payload": payload}))
}

async fn next(reader: &mut FeedReader, feed: &Feed) -> Value {
    serde_json::from_str(&reader.next(feed, || Timestamp::UNIX_EPOCH).await.unwrap()).unwrap()
}

#[tokio::test]
async fn page_gets_everything_and_then_only_what_changed() {
    let feed = Feed::new(SessionView::new(100));
    feed.apply([status(1, "a", "one"), status(2, "b", "two")]);
    let mut reader = feed.subscribe(Timestamp::UNIX_EPOCH);
    let first = next(&mut reader, &feed).await;
    assert_eq!(first["order"], json!(["a", "b"]));
    assert_eq!(first["messages"].as_array().map(Vec::len), Some(2));
    feed.apply([status(3, "b", "three")]);
    feed.flush(Timestamp::UNIX_EPOCH);
    let change = next(&mut reader, &feed).await;
    let changed: Vec<&String> = change["agents"].as_object().unwrap().keys().collect();
    assert_eq!(changed, ["b"]);
    assert_eq!(change["messages"][0]["seq"], 3);
    assert!(change.get("questions").is_none() && change.get("order").is_none(), "{change}");
}

#[tokio::test]
async fn slow_page_gets_everything_again() {
    let feed = Feed::new(SessionView::new(1000));
    let mut reader = feed.subscribe(Timestamp::UNIX_EPOCH);
    assert_eq!(next(&mut reader, &feed).await["whole"], true);
    for seq in 1..200 {
        feed.apply([status(seq, "a", &seq.to_string())]);
        feed.flush(Timestamp::UNIX_EPOCH);
    }
    let again = next(&mut reader, &feed).await;
    assert_eq!(again["whole"], true);
    assert_eq!(again["agents"]["a"]["last_message"], "199");
}

#[tokio::test]
async fn flood_is_told_at_once_with_its_newest_messages_and_loses_no_question() {
    let feed = Feed::new(SessionView::new(RECENT));
    let mut reader = feed.subscribe(Timestamp::UNIX_EPOCH);
    assert_eq!(next(&mut reader, &feed).await["whole"], true);
    let unwrap = |event| match event {
        ViewEvent::Message(message) => message,
        other => panic!("{other:?}"),
    };
    let asked = json!({"type": "agent.question", "agent_id": "a", "payload": {"question": "tabs?"}});
    let mut all = vec![unwrap(stored(1, asked))];
    all.extend((2..=1000).map(|seq| unwrap(status(seq, "b", &seq.to_string()))));
    for page in all.chunks(150) {
        feed.apply_messages(page);
    }
    feed.flush(Timestamp::UNIX_EPOCH);
    let change = next(&mut reader, &feed).await;
    let messages = change["messages"].as_array().unwrap();
    let numbers: Vec<u64> = messages.iter().map(|message| message["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1001 - RECENT as u64..=1000).collect::<Vec<_>>());
    assert_eq!(change["agents"]["b"]["last_message"], "1000");
    assert_eq!(change["questions"][0]["text"], "tabs?");
    // A page that connects in between gets the newest ones, too.
    feed.apply_messages(&[unwrap(status(1001, "b", "one more"))]);
    let mut late = feed.subscribe(Timestamp::UNIX_EPOCH);
    let whole = next(&mut late, &feed).await;
    assert_eq!(whole["messages"][RECENT - 1]["seq"], 1001);
}

/// A session in which every part of the document has something.
fn busy_view() -> SessionView {
    let message = |kind: &str, agent: &str, payload: Value| json!({"type": kind, "agent_id": agent, "payload": payload});
    let conflict = json!({"kind": "forward", "level": "overlap", "you": "feat-a", "other": "feat-b",
        "files": [{"path": "src/lib.rs", "your_lines": [[1, 2]], "their_lines": [[7, 9]]}]});
    let warning = json!({"from": "supervisor", "errors": ["both change src/lib.rs"], "conflict": conflict});
    let messages = [
        message("agent.intent", "feat-a", json!({"files": ["src/lib.rs"], "summary": "split it"})),
        message(
            "agent.status",
            "feat-b",
            json!({"status": "working", "message": "<b>tests</b>", "modified_files": ["a.rs"]}),
        ),
        message("agent.question", "feat-a", json!({"question": "tabs or spaces?"})),
        message("agent.feedback", "feat-a", warning),
    ];
    let mut view = SessionView::new(100);
    let session = SessionFacts {
        session: "paw-app".to_owned(),
        repository: PathBuf::from("/app"),
        ..SessionFacts::default()
    };
    view.apply(ViewEvent::Session(Box::new(session)));
    for (seq, message) in (1..).zip(messages) {
        view.apply(stored(seq, message));
    }
    let seen = Observation {
        state: AgentState::Working,
        source: StateSource::Screen,
        reason: "it shows 'esc to interrupt'".to_owned(),
        at: Timestamp::UNIX_EPOCH,
        since: Timestamp::UNIX_EPOCH,
        waits_for: None,
    };
    view.apply(ViewEvent::Observed { agent: AgentId::new("feat-b").unwrap(), seen });
    view
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of them are the document")]
fn document_of_a_page_keeps_its_shape() {
    let feed = Feed::new(busy_view());
    feed.set("jobs", json!([]));
    feed.set("terminals", json!({}));
    let mut document = Value::Object(feed.state().everything(Timestamp::UNIX_EPOCH));
    document["version"] = json!("[version]");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap(), @r#"
    {
      "session": {
        "session": "paw-app",
        "repository": "/app",
        "status": null,
        "recorded": null,
        "tmux_running": null,
        "mode": null,
        "created_at": null,
        "broker": null
      },
      "supervisor": null,
      "questions": [
        {
          "seq": 3,
          "at": "1970-01-01T00:00:00Z",
          "asker": "feat-a",
          "text": "tabs or spaces?"
        }
      ],
      "conflicts": [
        {
          "key": "Forward|feat-a|feat-b|src/lib.rs",
          "kind": "planned",
          "file": "src/lib.rs",
          "lines": "1-2",
          "agents": [
            "feat-a",
            "feat-b"
          ],
          "since": "1970-01-01T00:00:00Z",
          "details": "both change src/lib.rs"
        }
      ],
      "needs": [
        {
          "agent_id": "feat-a",
          "kind": "answer",
          "text": "tabs or spaces?",
          "since": "1970-01-01T00:00:00Z"
        }
      ],
      "jobs": [],
      "terminals": {},
      "order": [
        "feat-a",
        "feat-b"
      ],
      "agents": {
        "feat-a": {
          "agent_id": "feat-a",
          "observed": null,
          "reported": {
            "agent_id": "feat-a",
            "cli": null,
            "status": "idle",
            "phase": null,
            "last_seen": "1970-01-01T00:00:00Z",
            "modified_files": [],
            "last_seq": 4,
            "state": {
              "intent": 1
            }
          },
          "last_message": "tabs or spaces?",
          "plan": {
            "files": [
              "src/lib.rs"
            ],
            "summary": "split it",
            "announced": "1970-01-01T00:00:00Z",
            "until": "1970-01-01T01:00:00Z"
          },
          "status_category": "idle",
          "status": "idle",
          "since": "1970-01-01T00:00:00Z",
          "verification": null,
          "cli": ""
        },
        "feat-b": {
          "agent_id": "feat-b",
          "observed": {
            "state": "working",
            "since": "1970-01-01T00:00:00Z",
            "waits_for": null,
            "source": "screen",
            "reason": "it shows 'esc to interrupt'"
          },
          "reported": {
            "agent_id": "feat-b",
            "cli": null,
            "status": "working",
            "phase": null,
            "last_seen": "1970-01-01T00:00:00Z",
            "modified_files": [
              "a.rs"
            ],
            "last_seq": 2,
            "state": {
              "files": 2
            }
          },
          "last_message": "<b>tests</b>",
          "plan": null,
          "status_category": "working",
          "status": "working",
          "since": "1970-01-01T00:00:00Z",
          "verification": null,
          "cli": ""
        }
      },
      "messages": [
        {
          "seq": 1,
          "at": "1970-01-01T00:00:00Z",
          "kind": "intent",
          "from": "feat-a",
          "to": null,
          "text": "1 file: split it",
          "fields": [
            [
              "files",
              "src/lib.rs"
            ],
            [
              "summary",
              "split it"
            ],
            [
              "valid_for_seconds",
              "3600"
            ]
          ]
        },
        {
          "seq": 2,
          "at": "1970-01-01T00:00:00Z",
          "kind": "status",
          "from": "feat-b",
          "to": null,
          "text": "working, 1 file: <b>tests</b>",
          "fields": [
            [
              "status",
              "working"
            ],
            [
              "modified_files",
              "a.rs"
            ],
            [
              "message",
              "<b>tests</b>"
            ]
          ]
        },
        {
          "seq": 3,
          "at": "1970-01-01T00:00:00Z",
          "kind": "question",
          "from": "feat-a",
          "to": "supervisor",
          "text": "tabs or spaces?",
          "fields": [
            [
              "question",
              "tabs or spaces?"
            ]
          ]
        },
        {
          "seq": 4,
          "at": "1970-01-01T00:00:00Z",
          "kind": "feedback",
          "from": "feat-a",
          "to": "feat-a",
          "text": "both change src/lib.rs",
          "fields": [
            [
              "from",
              "supervisor"
            ],
            [
              "errors",
              "both change src/lib.rs"
            ],
            [
              "conflict",
              "{\"kind\":\"forward\",\"level\":\"overlap\",\"you\":\"feat-a\",\"other\":\"feat-b\",\"files\":[{\"path\":\"src/lib.rs\",\"your_lines\":[[1,2]],\"their_lines\":[[7,9]]}]}"
            ]
          ]
        }
      ],
      "whole": true,
      "version": "[version]",
      "now": "1970-01-01T00:00:00Z"
    }
    "#);
}
