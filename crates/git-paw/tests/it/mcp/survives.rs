//! Hostile and broken clients do not harm the server.

use std::time::Duration;

use paw_testkit::{Sandbox, TestRepo};
use serde_json::{Value, json};

use super::raw::Raw;

/// A server in its own repository.
fn start() -> (Raw, Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    (Raw::start_in(&sandbox, &repo.root), sandbox, repo)
}

const NOISE: [&[u8]; 12] = [
    b"",
    b"hello",
    b"\xff\xfe\x00\x01",
    b"{",
    b"[]",
    b"null",
    b"{\"jsonrpc\":\"2.0\"}",
    b"{\"jsonrpc\":\"2.0\",\"method\":7}",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}",
    b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
    b"{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"no/such/method\"}",
    b"{\"jsonrpc\":\"1.0\",\"id\":{},\"method\":\"tools/list\"}",
];

#[test]
fn mcp_server_ignores_garbage_before_and_after_the_handshake() {
    let (mut server, _sandbox, _repo) = start();
    for noise in NOISE {
        server.send(noise);
    }
    server.shake_hands();
    for noise in NOISE {
        server.send(noise);
    }
    server.is_alive(2);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn mcp_server_skips_a_huge_message() {
    let (mut server, _sandbox, _repo) = start();
    server.shake_hands();
    let huge = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{{\"name\":\"{}\"}}}}",
        "x".repeat(20 << 20)
    );
    server.send(huge.as_bytes());
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{}",
        "[".repeat(1 << 20)
    );
    server.send(deep.as_bytes());
    server.is_alive(2);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn mcp_server_answers_invalid_calls_with_errors() {
    let (mut server, _sandbox, _repo) = start();
    server.shake_hands();
    for (id, params) in (10..).zip([
        json!({}),
        json!({"name": 7}),
        json!({"name": "tasks_list", "arguments": []}),
        json!({"name": "no such tool", "arguments": {}}),
        json!({"name": "\u{1b}[2J".repeat(1000), "arguments": null}),
    ]) {
        server.send_json(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    server.is_alive(2);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn mcp_server_ends_when_the_client_disconnects() {
    let (server, _sandbox, _repo) = start();
    assert_eq!(server.end(), Some(0), "before it said a word");
    let (mut server, _sandbox, _repo) = start();
    server.shake_hands();
    let params = json!({"name": "inbox", "arguments": {"wait": 50}});
    server.send_json(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}));
    assert_eq!(server.end(), Some(0));
}

#[test]
fn mcp_server_answers_many_concurrent_calls() {
    let (mut server, _sandbox, _repo) = start();
    server.shake_hands();
    for id in 100..200 {
        let params = json!({"name": "tasks_add", "arguments": {"title": format!("task {id}")}});
        server.send_json(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    let mut answered = std::collections::BTreeSet::new();
    while answered.len() < 100 {
        let line = server.lines.recv_timeout(Duration::from_mins(5)).expect("an answer");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_ne!(message["result"]["isError"], true, "{message}");
        answered.extend(message["id"].as_u64());
    }
    server.is_alive(2);
}
