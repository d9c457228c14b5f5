//! The endpoints, one by one.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Server, id};

fn status(agent: &str, text: &str) -> Value {
    json!({"type": "agent.status", "agent_id": agent, "payload": {"status": text}})
}

fn artifact(agent: &str, text: &str) -> Value {
    json!({"type": "agent.artifact", "agent_id": agent, "payload": {"status": text}})
}

fn feedback(agent: &str, text: &str) -> Value {
    json!({"type": "agent.feedback", "agent_id": agent, "payload": {"from": "supervisor", "errors": [text]}})
}

fn statuses(answer: &Value) -> Vec<&str> {
    let messages = answer["messages"].as_array().unwrap();
    messages.iter().map(|message| message["payload"]["status"].as_str().unwrap()).collect()
}

#[test]
fn publish_returns_202_and_the_message_is_in_the_other_inboxes() {
    let server = Server::start();
    let (mut a, mut b) = (server.agent("feat-a"), server.agent("feat-b"));
    let answer = a.publish(&artifact("feat/a", "done"));
    assert_eq!((answer.status, answer.body.as_slice(), answer.seq()), (202, b"".as_slice(), 1));
    let inbox = b.get("/messages/feat-b?since=0").json();
    assert_eq!((statuses(&inbox), &inbox["last_seq"]), (vec!["done"], &json!(1)));
    assert_eq!(inbox["messages"][0]["agent_id"], "feat-a");
    assert_eq!(b.get("/messages/feat/b").json(), inbox);
    assert_eq!(a.get("/messages/feat-a").json()["messages"], json!([]));
}

#[test]
fn an_agent_that_starts_late_finds_its_messages() {
    let server = Server::start();
    let answer = server.agent("supervisor").publish(&feedback("feat-later", "read the docs"));
    assert_eq!(answer.status, 202);
    let inbox = server.agent("feat-later").get("/messages/feat-later").json();
    assert_eq!(inbox["messages"][0]["payload"]["errors"], json!(["read the docs"]));
}

#[test]
fn last_seq_never_decreases_across_pages() {
    let server = Server::start();
    let (mut a, mut b) = (server.agent("a"), server.agent("b"));
    for number in 0..5 {
        a.publish(&artifact("a", &number.to_string()));
    }
    let first = b.get("/messages/b?limit=2").json();
    assert_eq!(
        (statuses(&first), &first["last_seq"], &first["more"]),
        (vec!["0", "1"], &json!(2), &json!(true))
    );
    let rest = b.get("/messages/b?since=2").json();
    assert_eq!((statuses(&rest), &rest["more"]), (vec!["2", "3", "4"], &json!(false)));
    assert_eq!(b.get("/messages/b?since=5").json(), json!({"messages": [], "last_seq": 5, "more": false}));
    assert_eq!(b.get("/messages/b?since=99").json()["last_seq"], 99);
    assert_eq!(b.get("/messages/nobody?since=3").json()["last_seq"], 5);
}

#[test]
fn a_long_poll_returns_when_a_message_arrives() {
    let server = Server::start();
    let (mut a, mut b) = (server.agent("a"), server.agent("b"));
    let waiting = thread::spawn(move || {
        let start = Instant::now();
        (b.get("/messages/b?wait=20").json(), start.elapsed())
    });
    // A status is in no inbox, so the poll keeps waiting.
    a.publish(&status("a", "working"));
    a.publish(&artifact("a", "done"));
    let (inbox, waited) = waiting.join().unwrap();
    assert_eq!(statuses(&inbox), ["done"]);
    assert!(waited < Duration::from_secs(10), "{waited:?}");
}

#[test]
fn a_long_poll_returns_empty_on_timeout_and_on_shutdown() {
    let server = Server::start();
    let (mut b, mut c) = (server.agent("b"), server.agent("c"));
    assert_eq!(
        b.get("/messages/b?wait=1&since=7").json(),
        json!({"messages": [], "last_seq": 7, "more": false})
    );
    c.send(c.head("GET", "/messages/c?wait=60", "").as_bytes()).unwrap();
    // A second request shows that the server has read the first.
    assert_eq!(b.get("/status").status, 200);
    let start = Instant::now();
    let waiting = thread::spawn(move || c.answer());
    server.broker.shutdown();
    assert!(start.elapsed() < Duration::from_secs(10));
    if let Ok(answer) = waiting.join().unwrap() {
        assert_eq!(answer.json()["messages"], json!([]));
    }
}

#[test]
fn invalid_requests_get_specific_errors() {
    let server = Server::start();
    let mut a = server.agent("a");
    let table = [
        ("/messages/Bad!", 400, "agent_id must match [a-z0-9-_]+"),
        ("/messages/a?since=-1", 400, "since must be a valid u64"),
        ("/messages/a?since=x", 400, "since must be a valid u64"),
        ("/log?since=1.5", 400, "since must be a valid u64"),
        ("/nothing", 404, "no such endpoint"),
        ("/publish", 405, "method not allowed"),
    ];
    for (path, status, error) in table {
        let answer = a.get(path);
        assert_eq!((answer.status, answer.error().as_str()), (status, error), "{path}");
    }
}

#[test]
fn status_without_a_token_shows_only_the_version_and_a_hash_of_the_repository() {
    let server = Server::start();
    let mut a = server.agent("a");
    let said = json!({"type": "agent.status", "agent_id": "a",
        "payload": {"status": "working", "cli": "claude", "phase": "tests", "modified_files": ["x"]}});
    a.publish(&said);
    let stranger = server.connect().get("/status").json();
    let hash = paw_broker::endpoint::repository_hash(server.dir.path());
    let expected = json!({"git_paw": true, "version": env!("CARGO_PKG_VERSION"), "repository_hash": hash});
    assert_eq!(stranger, expected);
    let known = a.get("/status").json();
    assert_eq!(known["repository"], server.dir.path().to_string_lossy().as_ref());
    assert_eq!(
        (&known["auth"], &known["session"], &known["last_seq"]),
        (&json!("token"), &json!("paw-test"), &json!(1))
    );
    let agent = json!({"agent_id": "a", "cli": "claude", "status": "working", "last_seen_seconds": 0,
        "modified_files": ["x"], "phase": "tests"});
    assert_eq!(known["agents"], json!([agent]));
}

#[test]
fn log_endpoint_returns_all_messages_with_sequence_numbers_and_times() {
    let server = Server::start();
    let mut a = server.agent("a");
    a.publish(&status("a", "one"));
    a.publish(&artifact("a", "two"));
    let log = a.get("/log?since=1").json();
    assert_eq!(log["last_seq"], 2);
    let entry = &log["entries"][0];
    assert_eq!(
        (&entry["seq"], &entry["sender"], &entry["message"]),
        (
            &json!(2),
            &json!("a"),
            &json!({
        "type": "agent.artifact", "agent_id": "a", "payload": {"status": "two", "exports": [], "modified_files": []}})
        )
    );
    assert!(entry["timestamp_unix_secs"].as_i64().unwrap() > 1_700_000_000);
    assert_eq!(a.get("/log").json()["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn auth_none_accepts_any_sender_and_status_reports_it() {
    let server = Server::without_tokens();
    let mut unauthenticated = server.connect();
    assert_eq!(unauthenticated.publish(&feedback("feat-x", "as the supervisor")).status, 202);
    assert_eq!(unauthenticated.get("/status").json()["auth"], "none");
}

#[test]
fn watch_requests_require_a_privileged_caller() {
    let mut server = Server::start();
    let mut watches = server.broker.take_watches().unwrap();
    let body = json!({"agent_id": "feat/x", "worktree_path": "/w/x", "cli": "claude"}).to_string();
    let mut operator = server.agent("operator");
    assert_eq!(operator.post("/watch", "application/json", body.as_bytes()).status, 202);
    let request = watches.try_recv().unwrap();
    assert_eq!((request.agent_id, request.worktree_path.to_str()), (id("feat-x"), Some("/w/x")));
    let refused = server.agent("feat-x").post("/watch", "application/json", body.as_bytes());
    assert_eq!(refused.status, 403);
    for body in [
        json!({"agent_id": "x", "worktree_path": "<path>"}),
        json!({"agent_id": "<x>", "worktree_path": "/x"}),
        json!({}),
    ] {
        assert_eq!(operator.post("/watch", "application/json", body.to_string().as_bytes()).status, 400);
    }
}

#[test]
fn a_commit_message_is_followed_by_a_request_to_verify() {
    let server = Server::start_with(|settings| settings.nudge = true);
    let answer = server.agent("feat-a").publish(&artifact("feat-a", "committed"));
    assert_eq!(answer.seq(), 1);
    let inbox = server.agent("supervisor").get("/messages/supervisor").json();
    let types: Vec<&str> = inbox["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["agent.artifact", "supervisor.verify-now"]);
    assert_eq!(inbox["messages"][1]["branch_id"], "feat-a");
}

#[test]
fn a_repeated_question_is_stored_once_until_it_is_answered() {
    let server = Server::start();
    let mut a = server.agent("a");
    let question = json!({"type": "agent.question", "agent_id": "a", "payload": {"question": "why?"}});
    assert_eq!([a.publish(&question).seq(), a.publish(&question).seq()], [1, 1]);
    let answer = json!({"type": "agent.answer", "agent_id": "a", "payload": {"from": "operator", "answer": "because"}});
    server.agent("operator").publish(&answer);
    assert_eq!(a.publish(&question).seq(), 3);
}
