//! The client, with and without a running broker.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use paw_broker::SessionId;
use paw_broker::client::{BrokerClient, ClientError, ClientIdentity, ListenEvent, SendRoute};
use paw_broker::identity::Token;
use paw_broker::message::{ArtifactMessage, Message, QuestionMessage, StatusMessage, VerifiedMessage};
use paw_core::Diagnostic as _;
use paw_core::config::BrokerConfig;
use paw_host::clock;

use crate::server::{SESSION, Server, id};

fn client(dir: &Path, agent: &str, token: &Token) -> BrokerClient {
    let who =
        ClientIdentity { agent: Some(agent.to_owned()), token: Some(token.reveal().to_owned()), url: None };
    BrokerClient::new(&dir.join(".git"), BrokerConfig::default(), who, None).unwrap()
}

fn operator(dir: &Path) -> BrokerClient {
    BrokerClient::new(&dir.join(".git"), BrokerConfig::default(), ClientIdentity::default(), None).unwrap()
}

fn artifact(agent: &str, text: &str) -> Message {
    ArtifactMessage::new(id(agent), text).into()
}

#[test]
fn client_publishes_through_the_broker_or_else_to_the_log() {
    let server = Server::start();
    let (token, other) = (server.token("feat-a"), server.token("feat-b"));
    let dir = server.dir;
    let a = client(dir.path(), "feat/a", &token);
    let said = a.publish(&artifact("feat-a", "one"), clock::now()).unwrap();
    assert_eq!((said.seq, said.route), (1, SendRoute::Broker));
    server.broker.shutdown();
    let said = a.publish(&artifact("feat-a", "two"), clock::now()).unwrap();
    assert_eq!((said.seq, said.route), (2, SendRoute::Log));
    let b = client(dir.path(), "feat-b", &other);
    let inbox = b.inbox(0, Duration::ZERO).unwrap();
    let labels = |inbox: &paw_broker::client::Inbox| {
        inbox.messages.iter().map(|stored| stored.message.label().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (labels(&inbox), inbox.last_seq, inbox.more),
        (vec!["one".to_owned(), "two".to_owned()], 2, false)
    );
    let server =
        Server { broker: paw_broker::Broker::start(crate::server::settings(dir.path())).unwrap(), dir };
    let again = b.inbox(0, Duration::ZERO).unwrap();
    assert_eq!(again, inbox);
    assert_eq!(a.publish(&artifact("feat-a", "three"), clock::now()).unwrap().seq, 3);
    drop(server);
}

#[test]
fn client_applies_the_same_rules_with_and_without_a_broker() {
    let server = Server::start();
    let token = server.token("a");
    let a = client(server.dir.path(), "a", &token);
    let stranger = client(server.dir.path(), "a", &Token::from_text("paw_no"));
    let forged = artifact("b", "x");
    let verdict: Message = VerifiedMessage::new(id("b"), id("a")).into();
    let placeholder: Message = QuestionMessage::new(id("a"), "<question>").into();
    let check = || {
        assert!(a.publish(&forged, clock::now()).is_err());
        assert!(a.publish(&verdict, clock::now()).is_err());
        assert!(matches!(a.publish(&placeholder, clock::now()), Err(ClientError::Message(_))));
        assert!(stranger.publish(&artifact("a", "x"), clock::now()).is_err());
        assert!(stranger.inbox(0, Duration::ZERO).is_err());
        assert_eq!(operator(server.dir.path()).inbox(0, Duration::ZERO).unwrap().last_seq, 0);
    };
    check();
    server.broker.shutdown();
    check();
    let own: Message = VerifiedMessage::new(id("a"), id("operator")).into();
    assert_eq!(operator(server.dir.path()).publish(&own, clock::now()).unwrap().route, SendRoute::Log);
}

/// Stands between clients and the broker: passes requests on, and hides the broker's answers.
fn lose_answers(server: &Server, answer: &'static [u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = format!("http://{}", listener.local_addr().unwrap());
    let broker = server.broker.url().trim_start_matches("http://").to_owned();
    let endpoint = server.dir.path().join(".git/paw/endpoint.json");
    let text = std::fs::read_to_string(&endpoint).unwrap().replace(server.broker.url(), &own);
    std::fs::write(&endpoint, text).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut broker) = (client.unwrap(), TcpStream::connect(&broker).unwrap());
            // A client sends its whole request in one write.
            let mut request = [0; 16 << 10];
            let count = client.read(&mut request).unwrap();
            broker.write_all(&request[..count]).unwrap();
            broker.read_to_end(&mut Vec::new()).unwrap();
            client.write_all(answer).unwrap();
        }
    });
}

#[test]
fn message_whose_answer_is_lost_is_stored_once() {
    for answer in [&b""[..], b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"] {
        let server = Server::start();
        let a = client(server.dir.path(), "a", &server.token("a"));
        lose_answers(&server, answer);
        for (text, seq) in [("one", 1), ("two", 2)] {
            let said = a.publish(&artifact("a", text), clock::now()).unwrap();
            assert_eq!((said.seq, said.route), (seq, SendRoute::Log));
        }
        let bus = server.broker.bus();
        let stored = bus.load_recent(100, |_| true).unwrap();
        let labels: Vec<_> = stored.iter().map(|stored| stored.message.label()).collect();
        assert_eq!(labels, ["one", "two"], "a retry stores nothing twice");
    }
}

#[test]
fn commit_whose_answer_is_lost_asks_for_one_verification() {
    let server = Server::start_with(|settings| settings.nudge = true);
    let a = client(server.dir.path(), "a", &server.token("a"));
    lose_answers(&server, b"");
    a.publish(&artifact("a", ArtifactMessage::COMMITTED), clock::now()).unwrap();
    let stored = server.broker.bus().load_recent(100, |_| true).unwrap();
    assert_eq!(stored.len(), 2, "the commit and the request to verify it: {stored:?}");
}

#[test]
fn client_ignores_the_endpoint_of_a_dead_broker() {
    let server = Server::start();
    let token = server.token("a");
    let endpoint = server.dir.path().join(".git/paw/endpoint.json");
    let left = std::fs::read(&endpoint).unwrap();
    server.broker.shutdown();
    assert!(!endpoint.exists());
    std::fs::write(&endpoint, left).unwrap();
    let said = client(server.dir.path(), "a", &token).publish(&artifact("a", "x"), clock::now()).unwrap();
    assert_eq!(said.route, SendRoute::Log);
}

#[test]
fn client_waiting_on_the_log_returns_on_a_message_or_a_timeout() {
    let server = Server::start();
    let (token, other) = (server.token("a"), server.token("b"));
    server.broker.shutdown();
    let dir = server.dir.path();
    let (a, b) = (client(dir, "a", &token), client(dir, "b", &other));
    assert!(b.inbox(0, Duration::from_millis(50)).unwrap().messages.is_empty());
    let waiting = std::thread::spawn(move || b.inbox(0, Duration::from_secs(20)).unwrap());
    a.publish(&artifact("a", "x"), clock::now()).unwrap();
    assert_eq!(waiting.join().unwrap().messages.len(), 1);
}

#[test]
fn client_keeps_waiting_when_the_broker_shuts_down() {
    let server = Server::start();
    let (token, other) = (server.token("a"), server.token("b"));
    let dir = server.dir.path();
    let (a, b) = (client(dir, "a", &token), client(dir, "b", &other));
    let waiting = std::thread::spawn(move || b.inbox(0, Duration::from_secs(u64::MAX)).unwrap());
    server.broker.shutdown();
    assert_eq!(a.publish(&artifact("a", "x"), clock::now()).unwrap().route, SendRoute::Log);
    assert_eq!(waiting.join().unwrap().messages.len(), 1);
}

#[test]
fn client_reports_a_missing_session() {
    let dir = tempfile::tempdir().unwrap();
    let error = operator(dir.path()).inbox(0, Duration::ZERO).unwrap_err();
    assert!(matches!(error, ClientError::NoSession), "{error}");
    assert!(!dir.path().join(".git").exists());
}

#[test]
fn client_uses_the_last_session_by_default() {
    let server = Server::start();
    let token = server.token("a");
    let dir = &server.dir;
    server.broker.shutdown();
    client(dir.path(), "a", &token).publish(&artifact("a", "x"), clock::now()).unwrap();
    let named = BrokerClient::new(
        &dir.path().join(".git"),
        BrokerConfig::default(),
        ClientIdentity::default(),
        Some(SessionId::new(SESSION)),
    );
    assert_eq!(named.unwrap().inbox(0, Duration::ZERO).unwrap().last_seq, 1);
}

#[test]
fn listener_gets_status_messages_and_survives_a_broker_shutdown() {
    let server = Server::start();
    let token = server.token("a");
    let (a, operator) = (client(server.dir.path(), "a", &token), operator(server.dir.path()));
    let listening = std::thread::spawn(move || {
        let mut heard = Vec::new();
        let listened = operator.listen(0, |what| {
            if let ListenEvent::Message(stored) = what {
                heard.push((stored.seq, stored.message.type_name().to_owned()));
            }
            if heard.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        listened.unwrap();
        heard
    });
    let status = || Message::from(StatusMessage::new(id("a"), "working"));
    a.publish(&status(), clock::now()).unwrap();
    a.publish(&artifact("a", "two"), clock::now()).unwrap();
    server.broker.shutdown();
    a.publish(&status(), clock::now()).unwrap();
    let kinds = ["agent.status", "agent.artifact", "agent.status"].map(str::to_owned);
    assert_eq!(listening.join().unwrap(), (1..).zip(kinds).collect::<Vec<_>>());
}

#[test]
fn listener_with_a_token_of_another_session_is_refused() {
    let server = Server::start();
    let stranger = client(server.dir.path(), "a", &Token::from_text("not-a-token"));
    let listened = stranger.listen(0, |_| ControlFlow::Continue(()));
    assert!(matches!(listened, Err(ClientError::UnknownToken)), "{listened:?}");
}

#[test]
fn follower_survives_a_broker_shutdown_and_misses_nothing() {
    let server = Server::start();
    let (token, other) = (server.token("a"), server.token("b"));
    let (a, b) = (client(server.dir.path(), "a", &token), client(server.dir.path(), "b", &other));
    let following = std::thread::spawn(move || {
        let mut seen = Vec::new();
        b.follow(0, |inbox| {
            seen.extend(inbox.messages.iter().map(|stored| stored.message.label().to_owned()));
            if seen.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
        seen
    });
    a.publish(&artifact("a", "one"), clock::now()).unwrap();
    a.publish(&artifact("a", "two"), clock::now()).unwrap();
    server.broker.shutdown();
    a.publish(&artifact("a", "three"), clock::now()).unwrap();
    assert_eq!(following.join().unwrap(), ["one", "two", "three"]);
}

#[test]
fn client_errors_about_tokens_suggest_a_command_and_mention_no_headers() {
    let server = Server::start();
    let speak = |agent: &str, token: Option<&str>| {
        let who =
            ClientIdentity { agent: Some(agent.to_owned()), token: token.map(str::to_owned), url: None };
        let config = BrokerConfig::default();
        let client = BrokerClient::new(&server.dir.path().join(".git"), config, who, None).unwrap();
        client.publish(&artifact(agent, "x"), clock::now()).unwrap_err().report().to_string()
    };
    let check = || {
        for (said, words) in [
            (speak("a", None), "this command runs as agent 'a', but GIT_PAW_BROKER_TOKEN is not set"),
            (speak("a", Some("paw_other")), "the token in GIT_PAW_BROKER_TOKEN is not valid in this session"),
        ] {
            assert!(said.contains(words) && !said.contains("unset"), "{said}");
            assert!(!said.contains("Authorization") && !said.contains("header"), "{said}");
        }
        std::fs::write(server.dir.path().join(".git/paw/operator-token"), "paw_old").unwrap();
        let said = operator(server.dir.path()).publish(&artifact("operator", "x"), clock::now());
        let said = said.unwrap_err().report().to_string();
        assert!(said.contains("operator-token") && said.contains("git paw pause"), "{said}");
    };
    check();
    server.broker.shutdown();
    check();
}

#[test]
fn a_commit_stored_without_a_broker_is_followed_by_a_request_to_verify() {
    let server = Server::start();
    let token = server.token("a");
    let dir = server.dir;
    server.broker.shutdown();
    let supervisor = || {
        let inbox = operator(dir.path()).inbox_of(&id("supervisor"), 0, Duration::ZERO).unwrap();
        let nudges = inbox.messages.iter().filter(|stored| matches!(stored.message, Message::VerifyNow(_)));
        nudges.count()
    };
    let a = client(dir.path(), "a", &token);
    a.clone().with_nudge(false).publish(&artifact("a", "committed"), clock::now()).unwrap();
    assert_eq!(supervisor(), 0);
    a.publish(&artifact("a", "committed"), clock::now()).unwrap();
    assert_eq!(supervisor(), 1);
}
