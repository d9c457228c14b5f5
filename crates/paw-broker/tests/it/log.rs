//! The log: restarts, other processes, and the audit trail.

use std::sync::Arc;

use paw_broker::log::{self, MessageDraft, PageLimit, SendId};
use paw_broker::message::{ArtifactMessage, Message, StatusMessage};
use paw_broker::{Bus, SessionId};
use paw_host::clock;
use paw_testkit::wait_until;
use serde_json::{Value, json};

use crate::server::{SESSION, Server, id};

fn artifact(agent: &str, text: &str) -> Message {
    ArtifactMessage::new(id(agent), text).into()
}

fn drafts(agent: &str, count: usize) -> Vec<MessageDraft> {
    (0..count).map(|number| MessageDraft::new(artifact(agent, &number.to_string()), clock::now())).collect()
}

fn intent(agent: &str) -> Value {
    json!({"type": "agent.intent", "agent_id": agent, "payload": {"files": ["src/x.rs"], "summary": "x"}})
}

#[test]
fn a_restart_keeps_messages_sequence_numbers_statuses_and_intents() {
    let server = Server::start();
    let mut a = server.agent("a");
    a.publish(&json!({"type": "agent.status", "agent_id": "a", "payload": {"status": "working", "modified_files": ["x"]}}));
    a.publish(&intent("a"));
    let token = a.token.clone();
    drop(a);
    let server = server.restart();
    let mut a = server.connect();
    a.token = token;
    assert_eq!(a.publish(&intent("a")).seq(), 3);
    let status = a.get("/status").json();
    assert_eq!(
        (&status["agents"][0]["status"], &status["agents"][0]["modified_files"]),
        (&json!("working"), &json!(["x"]))
    );
    let state: Vec<u64> = server.broker.bus().load_state().unwrap().iter().map(|stored| stored.seq).collect();
    assert_eq!(state, [1, 3]);
    let mut b = server.agent("b");
    assert_eq!(b.get("/messages/b").json()["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_purged_session_is_gone_and_its_sequence_numbers_are_not_reused() {
    let dir = tempfile::tempdir().unwrap();
    let log = log::open(&dir.path().join("db")).unwrap();
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    assert_eq!(log.append(&one, &drafts("a", 3)).unwrap().first, 1);
    assert_eq!(log.append(&two, &drafts("a", 2)).unwrap().first, 4);
    log.purge(&two).unwrap();
    assert_eq!(log.append(&one, &drafts("a", 1)).unwrap().first, 6);
    assert_eq!(log.append(&two, &drafts("a", 1)).unwrap().first, 7);
    let numbers = |session| {
        let page = log.history(session, 0, PageLimit::DEFAULT).unwrap();
        page.iter().map(|entry| entry.seq).collect::<Vec<_>>()
    };
    assert_eq!((numbers(&one), numbers(&two)), (vec![1, 2, 3, 6], vec![7]));
}

#[test]
fn a_session_does_not_see_messages_of_another_session() {
    let dir = tempfile::tempdir().unwrap();
    let log = log::open(&dir.path().join("db")).unwrap();
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    log.append(&one, &drafts("a", 3)).unwrap();
    log.append(&two, &drafts("b", 2)).unwrap();
    let inbox = log.inbox(&two, &id("c"), 0, PageLimit::DEFAULT).unwrap();
    assert_eq!(inbox.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [4, 5]);
    assert!(log.inbox(&SessionId::new("three"), &id("c"), 0, PageLimit::DEFAULT).unwrap().is_empty());
}

#[test]
fn broker_delivers_messages_that_other_processes_wrote() {
    let server = Server::start();
    let path = server.dir.path().join(".git/paw/broker.db");
    let other = log::open(&path).unwrap();
    let session = SessionId::new(SESSION);
    let mut b = server.agent("b");
    assert_eq!(other.append(&session, &drafts("a", 2)).unwrap().first, 1);
    wait_until("messages of another process are in the inbox", || {
        (b.get("/messages/b").json()["last_seq"] == 2).then_some(())
    });
    assert_eq!(other.append(&session, &drafts("a", 3)).unwrap().first, 3);
    let status = json!({"type": "agent.artifact", "agent_id": "b", "payload": {"status": "mine"}});
    assert_eq!(b.publish(&status).seq(), 6);
    let log = b.get("/log").json();
    let numbers: Vec<u64> =
        log["entries"].as_array().unwrap().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn concurrent_writers_get_consecutive_sequence_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let session = SessionId::new("s");
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let (path, session) = (&path, &session);
            scope.spawn(move || {
                let log = log::open(path).unwrap();
                for _ in 0..20 {
                    log.append(session, &drafts(&format!("w{writer}"), 3)).unwrap();
                }
            });
        }
    });
    let log = log::open(&path).unwrap();
    let page = log.history(&session, 0, PageLimit::DEFAULT).unwrap();
    assert_eq!(page.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=360).collect::<Vec<_>>());
    assert_eq!(log.head().unwrap(), 360);
}

#[test]
fn cache_and_log_return_the_same_inbox() {
    let dir = tempfile::tempdir().unwrap();
    let log = log::open(&dir.path().join("db")).unwrap();
    let session = SessionId::new("s");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let bus = Bus::open(Arc::clone(&log), session.clone(), true).unwrap();
    for number in 0..3000 {
        let agent = ["a", "b", "c"][number % 3];
        let message = if number % 5 == 0 {
            StatusMessage::new(id(agent), "x").into()
        } else {
            artifact(agent, "committed")
        };
        bus.publish_blocking(message, clock::now()).unwrap();
    }
    let limit = PageLimit { messages: 50, bytes: 1 << 20 };
    for agent in ["a", "b", "supervisor", "nobody"].map(id) {
        for since in [0, 1, 500, 2000, bus.head() - 60, bus.head() - 1, bus.head()] {
            let page = runtime.block_on(bus.inbox(&agent, since, limit, false)).unwrap();
            let page: Vec<_> = page.iter().map(|kept| kept.entry.clone()).collect();
            assert_eq!(page, log.inbox(&session, &agent, since, limit).unwrap(), "{agent} {since}");
        }
    }
    let records = bus.records();
    bus.close();
    drop(bus);
    let again = Bus::open(log, session, true).unwrap();
    assert_eq!(again.records(), records);
}

#[test]
fn a_second_broker_of_the_same_repository_does_not_start() {
    let server = Server::start();
    let error = paw_broker::Broker::start(crate::server::settings(server.dir.path())).unwrap_err();
    assert!(error.to_string().contains(server.broker.url()), "{error}");
}

#[test]
fn files_with_tokens_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let dir = server.dir.path().join(".git/paw");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!((mode(&dir.join("operator-token")), mode(&dir.join("endpoint.json"))), (0o600, 0o600));
    let token = server.token("a");
    let database = std::fs::read(dir.join("broker.db")).unwrap();
    let wal = std::fs::read(dir.join("broker.db-wal")).unwrap_or_default();
    for bytes in [database, wal] {
        assert!(!bytes.windows(16).any(|window| window == &token.reveal().as_bytes()[..16]));
    }
}

#[test]
fn the_audit_trail_has_every_message_and_continues_after_a_restart() {
    let server = Server::start();
    let path = server.dir.path().join(".git-paw/broker.log");
    let mut a = server.agent("a");
    for _ in 0..3 {
        a.publish(&intent("a"));
    }
    drop(a);
    let server = server.restart();
    server.agent("b").publish(&intent("b"));
    server.broker.shutdown();
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(
        (&lines[3]["sender"], &lines[3]["message"]),
        (&json!("b"), &Message::from_json(intent("b")).unwrap().to_json())
    );
}

#[test]
fn the_audit_trail_includes_messages_from_before_it_was_enabled() {
    let server = Server::start();
    let path = server.dir.path().join(".git-paw/broker.log");
    server.agent("a").publish(&intent("a"));
    let server = server.restart_after(|| std::fs::remove_file(&path).unwrap());
    server.agent("b").publish(&intent("b"));
    server.broker.shutdown();
    let text = std::fs::read_to_string(path).unwrap();
    let senders = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["sender"].clone());
    assert_eq!(senders.collect::<Vec<_>>(), [json!("a"), json!("b")]);
}

#[test]
fn message_that_is_sent_again_under_its_id_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = log::open(&dir.path().join("log.db")).unwrap();
    let session = SessionId::new("s");
    let draft = |agent: &str, id: Option<&str>| {
        drafts(agent, 1).remove(0).with_id(id.map(|id| SendId::parse(id).unwrap()))
    };
    let first =
        log.append(&session, &[draft("a", Some("x")), draft("a", None), draft("a", Some("x"))]).unwrap();
    assert_eq!((first.first, first.known.as_slice()), (1, &[(2, 1)][..]), "also within one commit");
    let again = log.append(&session, &[draft("a", Some("x")), draft("a", Some("y"))]).unwrap();
    assert_eq!(again.numbers(2).collect::<Vec<_>>(), [(1, false), (3, true)]);
    let other = log.append(&session, &[draft("b", Some("x"))]).unwrap();
    assert_eq!(other.numbers(1).collect::<Vec<_>>(), [(4, true)], "an id belongs to its sender");
    assert_eq!(log.history(&session, 0, PageLimit::DEFAULT).unwrap().len(), 4);
    assert_eq!(
        log::open(&dir.path().join("log.db"))
            .unwrap()
            .append(&session, &[draft("a", Some("y"))])
            .unwrap()
            .known,
        [(0, 3)]
    );
}
