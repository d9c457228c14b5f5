//! Server-sent events and slow readers.

use std::time::Duration;

use paw_broker::http::ServerLimits;
use paw_broker::log::{self, MessageDraft};
use paw_broker::message::{ArtifactMessage, Message};
use paw_broker::{Bus, SessionId};
use paw_host::clock;
use paw_testkit::wait_until;
use serde_json::{Value, json};

use crate::server::{Http, Server, id};

fn artifact(text: &str) -> Value {
    json!({"type": "agent.artifact", "agent_id": "a", "payload": {"status": text}})
}

fn open(http: &mut Http, path: &str, more: &str) {
    http.send(http.head("GET", path, more).as_bytes()).unwrap();
    let answer = http.answer().unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
}

/// The next event: its id and its message.
fn event(http: &mut Http) -> (u64, String) {
    let mut number = None;
    loop {
        let line = http.line();
        assert!(!line.is_empty(), "the stream ended");
        if let Some(id) = line.strip_prefix("id: ") {
            number = Some(id.trim().parse().unwrap());
        }
        if let Some(data) = line.strip_prefix("data: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            return (number.unwrap(), data["message"]["payload"]["status"].as_str().unwrap().to_owned());
        }
    }
}

#[test]
fn events_are_streamed_and_a_reader_resumes_where_it_stopped() {
    let server = Server::start();
    let mut a = server.agent("a");
    a.publish(&artifact("before"));
    let mut reader = server.agent("operator");
    open(&mut reader, "/events", "");
    a.publish(&artifact("one"));
    a.publish(&artifact("two"));
    assert_eq!((event(&mut reader), event(&mut reader)), ((2, "one".into()), (3, "two".into())));
    let mut again = server.agent("operator");
    open(&mut again, "/events", "Last-Event-ID: 2\r\n");
    assert_eq!(event(&mut again), (3, "two".into()));
    let mut all = server.agent("operator");
    open(&mut all, "/events?since=0", "");
    assert_eq!(event(&mut all), (1, "before".into()));
}

#[test]
fn a_slow_reader_misses_nothing_and_blocks_no_publisher() {
    let server = Server::start();
    let mut a = server.agent("a");
    let mut slow = server.agent("operator");
    open(&mut slow, "/events?since=0", "");
    let text = "x".repeat(20_000);
    let count = 600;
    for number in 0..count {
        assert_eq!(a.publish(&artifact(&format!("{number} {text}"))).status, 202);
    }
    for number in 0..count {
        let (seq, said) = event(&mut slow);
        assert_eq!(seq, number + 1);
        assert!(said.starts_with(&format!("{number} ")));
    }
}

#[test]
fn a_reader_that_stops_reading_is_disconnected() {
    let server =
        Server::with_limits(ServerLimits { unread: Duration::from_millis(300), ..ServerLimits::default() });
    let mut a = server.agent("a");
    let mut stuck = server.agent("operator");
    open(&mut stuck, "/events?since=0", "");
    let text = "x".repeat(200_000);
    for number in 0..100 {
        assert_eq!(a.publish(&artifact(&format!("{number} {text}"))).status, 202);
    }
    // More data is waiting than any socket buffers. A write to a closed connection fails.
    wait_until("the broker closed the connection", || stuck.send(b"x").is_err().then_some(()));
}

#[test]
fn a_subscription_misses_nothing() {
    let server = Server::start();
    let mut stream = server.broker.subscribe();
    let mut seen = 0;
    let message = || paw_broker::message::StatusMessage::new(id("a"), "working").into();
    for _ in 0..5000 {
        server.broker.publish(message()).unwrap();
    }
    while seen < 5000 {
        let page = stream.wait(server.broker.runtime(), Duration::from_secs(10));
        assert!(!page.is_empty());
        for stored in page {
            seen += 1;
            assert_eq!(stored.seq, seen);
        }
    }
}

#[test]
fn many_event_streams_and_long_polls_leave_room_for_messages_and_for_the_operator() {
    let server = Server::with_limits(ServerLimits { connections: 200, ..ServerLimits::default() });
    let token = server.token("a");
    let mut waiting = Vec::new();
    for number in 0..1500 {
        let mut http = server.connect().speaking(token.clone());
        let path = if number % 2 == 0 { "/events" } else { "/messages/a?wait=60" };
        http.send(http.head("GET", path, "").as_bytes()).unwrap();
        waiting.push(http);
    }
    let status = json!({"type": "agent.status", "agent_id": "b", "payload": {"status": "x"}});
    // The first requests are still being refused.
    wait_until("a message is taken", || (server.agent("b").publish(&status).status == 202).then_some(()));
    assert_eq!(server.connect().get("/status").status, 200);
    let mut operator = server.agent("operator");
    open(&mut operator, "/events?since=0", "");
}

#[test]
fn a_reader_continues_after_a_failed_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("db");
    let session = SessionId::new("one");
    let log = log::open(&file).unwrap();
    // More than the cache holds, so that the first page comes from the log.
    let draft = |number: u32| {
        let message: Message = ArtifactMessage::new(id("a"), number.to_string()).into();
        MessageDraft::new(message, clock::now())
    };
    log.append(&session, &(0..6000).map(draft).collect::<Vec<_>>()).unwrap();
    let bus = Bus::open(log, session, false).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    let rename = |from: &str, to: &str| {
        other.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}")).unwrap();
    };
    rename("message", "moved");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut stream = bus.subscribe_after(0);
        assert!(stream.next().await.is_err());
        let mut next = std::pin::pin!(stream.next_page());
        assert!(tokio::time::timeout(Duration::from_millis(300), &mut next).await.is_err(), "it ended");
        rename("moved", "message");
        assert_eq!(next.await.unwrap().first().unwrap().entry.seq, 1);
    });
}
