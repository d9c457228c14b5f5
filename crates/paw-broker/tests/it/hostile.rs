//! Hostile and broken clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use paw_broker::client::{BrokerClient, ClientIdentity};
use paw_broker::http::{LARGEST_BODY, ServerLimits};
use paw_core::config::BrokerConfig;
use paw_testkit::wait_until;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::server::{Http, Server};

fn status(agent: &str) -> Value {
    json!({"type": "agent.status", "agent_id": agent, "payload": {"status": "working"}})
}

fn raw(server: &Server, text: &str) -> crate::server::AnswerMessage {
    let mut http = server.connect();
    http.send(text.as_bytes()).unwrap();
    http.answer().unwrap()
}

#[test]
fn requests_without_a_token_get_a_hint_and_no_data() {
    let server = Server::start();
    for (path, method) in [
        ("/publish", "POST"),
        ("/messages/a", "GET"),
        ("/log", "GET"),
        ("/events", "GET"),
        ("/watch", "POST"),
    ] {
        let mut http = server.connect();
        http.send(
            http.head(method, path, "Content-Type: application/json\r\nContent-Length: 0\r\n").as_bytes(),
        )
        .unwrap();
        let answer = http.answer().unwrap();
        assert_eq!((answer.status, answer.error().as_str()), (401, "no token"), "{path}");
        assert!(answer.json()["hint"].as_str().unwrap().contains("GIT_PAW_BROKER_TOKEN"));
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[test]
fn wrong_and_revoked_tokens_and_tokens_of_other_sessions_are_refused() {
    let server = Server::start();
    let mut a = server.agent("a");
    let old = a.token.clone().unwrap();
    let other = paw_broker::SessionId::new("paw-other");
    let foreign = server.broker.keyring().mint(&other, &crate::server::id("a")).unwrap();
    for token in [paw_broker::identity::Token::from_text("paw_00"), foreign] {
        a.token = Some(token);
        let answer = a.publish(&status("a"));
        assert_eq!((answer.status, answer.error().as_str()), (401, "unknown token"));
    }
    let new = server.token("a");
    a.token = Some(new);
    wait_until("the new token is known", || (a.publish(&status("a")).status == 202).then_some(()));
    a.token = Some(old);
    wait_until("the old token is forgotten", || (a.publish(&status("a")).status == 401).then_some(()));
}

#[test]
fn agents_cannot_send_as_another_agent() {
    let server = Server::start();
    let mut a = server.agent("a");
    let forged = [
        status("b"),
        json!({"type": "agent.feedback", "agent_id": "b", "payload": {"from": "supervisor", "errors": ["x"]}}),
        json!({"type": "agent.verified", "agent_id": "a", "payload": {"verified_by": "supervisor"}}),
        json!({"type": "agent.verified", "agent_id": "b", "payload": {"verified_by": "a"}}),
        json!({"type": "agent.answer", "agent_id": "b", "payload": {"from": "operator", "answer": "x"}}),
        json!({"type": "supervisor.verify-now", "branch_id": "a"}),
    ];
    for message in forged {
        let answer = a.publish(&message);
        assert_eq!(answer.status, 403, "{message} {answer:?}");
    }
    assert_eq!(a.get("/log").json()["entries"], json!([]));
}

#[test]
fn requests_from_web_pages_and_rebound_host_names_are_refused() {
    let server = Server::start();
    let token = server.token("a");
    let body = status("a").to_string();
    let port = server.address().port();
    let send = |host: &str, more: &str| {
        raw(
            &server,
            &format!(
                "POST /publish HTTP/1.1\r\nHost: {host}\r\n{more}Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
                token.reveal(),
                body.len()
            ),
        )
    };
    let json = "Content-Type: application/json\r\n";
    let own = format!("127.0.0.1:{port}");
    assert_eq!(send(&own, json).status, 202);
    assert_eq!(send("evil.example", json).status, 421);
    assert_eq!(send(&format!("evil.example:{port}"), json).status, 421);
    assert_eq!(send(&own, &format!("{json}Origin: http://evil.example\r\n")).status, 403);
    assert_eq!(send(&own, &format!("{json}Origin: null\r\n")).status, 403);
    assert_eq!(send(&own, &format!("{json}Origin: http://localhost:3000\r\n")).status, 403);
    assert_eq!(send(&own, &format!("{json}Origin: http://localhost:{port}\r\n")).status, 202);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonish"] {
        let answer = send(&own, &format!("Content-Type: {kind}\r\n"));
        assert_eq!((answer.status, answer.error().as_str()), (415, "Content-Type must be application/json"));
    }
    assert_eq!(send(&own, "").status, 415);
    assert_eq!(send(&own, "content-type: Application/JSON; charset=utf-8\r\n").status, 202);
    let preflight = raw(
        &server,
        &format!("OPTIONS /publish HTTP/1.1\r\nHost: {own}\r\nOrigin: http://evil.example\r\n\r\n"),
    );
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (403, None));
    assert_eq!(raw(&server, "GET /status HTTP/1.0\r\n\r\n").status, 421);
    let whole = format!("GET http://evil.example/status HTTP/1.1\r\nHost: {own}\r\n\r\n");
    assert_eq!(raw(&server, &whole).status, 421);
}

#[test]
fn deeply_nested_messages_are_refused_and_the_deepest_accepted_one_is_readable() {
    let server = Server::start();
    let (mut a, b) = (server.agent("a"), server.token("b"));
    // The message and its payload are two of the levels.
    let nested = |levels: usize| {
        let (open, shut) = ("[".repeat(levels - 2), "]".repeat(levels - 2));
        format!(
            r#"{{"type":"agent.artifact","agent_id":"a","payload":{{"status":"done","odd":{open}{shut}}}}}"#
        )
    };
    for (levels, status) in [(126, 400), (65, 400), (64, 202)] {
        let answer = a.post("/publish", "application/json", nested(levels).as_bytes());
        assert_eq!(answer.status, status, "{levels}: {answer:?}");
    }
    let who = ClientIdentity { agent: Some("b".to_owned()), token: Some(b.reveal().to_owned()), url: None };
    let b = BrokerClient::new(&server.dir.path().join(".git"), BrokerConfig::default(), who, None).unwrap();
    assert_eq!(b.inbox(0, Duration::ZERO).unwrap().messages.len(), 1);
}

#[test]
fn invalid_bodies_are_refused_with_the_right_status_code() {
    let server = Server::start();
    let mut a = server.agent("a");
    let json = "application/json";
    let deep = "[".repeat(50_000);
    let table: [(&[u8], u16); 6] = [
        (b"", 400),
        (b"{\"type\":\"agent.status\",", 400),
        (b"\xff\xfe\x00", 400),
        (deep.as_bytes(), 400),
        (b"{\"type\":\"agent.song\"}", 400),
        (b"null", 400),
    ];
    for (body, status) in table {
        let answer = a.post("/publish", json, body);
        assert_eq!(answer.status, status);
        assert!(!answer.error().is_empty());
    }
    assert_eq!(a.post("/publish", json, b"").error(), "request body must not be empty");
    let exact = |size: usize| {
        let empty =
            json!({"type": "agent.status", "agent_id": "a", "payload": {"status": ""}}).to_string().len();
        json!({"type": "agent.status", "agent_id": "a", "payload": {"status": "x".repeat(size - empty)}})
    };
    assert_eq!(a.publish(&exact(LARGEST_BODY)).status, 202);
    let mut b = server.agent("b");
    b.send(
        b.head(
            "POST",
            "/publish",
            &format!("Content-Type: {json}\r\nContent-Length: {}\r\n", LARGEST_BODY + 1),
        )
        .as_bytes(),
    )
    .unwrap();
    assert_eq!(b.answer().unwrap().status, 413);
}

#[test]
fn a_body_without_a_length_is_limited() {
    let server = Server::start();
    let mut a = server.agent("a");
    let more = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    a.send(a.head("POST", "/publish", more).as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..64 {
        // The server may close the connection after its response.
        if a.send(chunk.as_bytes()).is_err() {
            break;
        }
    }
    if let Ok(answer) = a.answer() {
        assert_eq!(answer.status, 413);
    }
    assert_eq!(server.agent("a").get("/log").json()["entries"], json!([]));
}

#[test]
fn a_truncated_body_is_not_stored() {
    let server = Server::start();
    let mut a = server.agent("a");
    a.send(
        a.head("POST", "/publish", "Content-Type: application/json\r\nContent-Length: 500\r\n").as_bytes(),
    )
    .unwrap();
    a.send(status("a").to_string().as_bytes()).unwrap();
    drop(a);
    assert_eq!(server.agent("a").get("/log").json()["entries"], json!([]));
}

#[test]
fn garbage_instead_of_http_does_not_affect_the_next_connection() {
    let server = Server::start();
    for bytes in [
        b"\x16\x03\x01\x02\x00".as_slice(),
        b"GET\r\n\r\n",
        &"A".repeat(200_000).into_bytes(),
        b"\0\0\0\0\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(server.connect().get("/status").status, 200);
}

/// As many sockets as the system allows this process, 10,000 at most.
fn raise_open_files() -> usize {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limits.maximum.map(|most| most.min(16_000)), ..limits };
    let allowed = setrlimit(Resource::Nofile, raised).map_or(limits.current, |()| raised.current);
    // The other tests of this process need some, too.
    usize::try_from(allowed.unwrap_or(16_000)).unwrap().saturating_sub(3000).clamp(450, 10_000)
}

#[test]
fn ten_thousand_open_connections_do_not_block_new_ones() {
    let server = Server::with_limits(ServerLimits { connections: 200, ..ServerLimits::default() });
    let mut a = server.agent("a");
    assert_eq!(a.publish(&status("a")).status, 202);
    let wanted = raise_open_files();
    let idle: Vec<TcpStream> =
        (0..wanted).filter_map(|_| TcpStream::connect(server.address()).ok()).collect();
    assert!(idle.len() > wanted * 9 / 10, "{} of {wanted}", idle.len());
    assert_eq!(server.agent("b").publish(&status("b")).status, 202);
}

#[test]
fn connections_above_the_limit_replace_idle_ones() {
    let limits = ServerLimits { connections: 64, ..ServerLimits::default() };
    let server = Server::with_limits(limits);
    let mut kept = std::collections::VecDeque::new();
    for number in 0..10_000 {
        kept.push_back(TcpStream::connect(server.address()).unwrap());
        if kept.len() > 300 {
            kept.pop_front();
        }
        if number % 1000 == 0 {
            assert_eq!(server.connect().get("/status").status, 200);
        }
    }
}

#[test]
fn a_new_connection_gets_503_if_all_others_are_busy() {
    let limits = ServerLimits { connections: 3, ..ServerLimits::default() };
    let server = Server::with_limits(limits);
    let token = server.token("a");
    wait_until("all connections are busy", || {
        // A connection may be closed before its first request, so all of them start together and retry.
        let mut waiting: Vec<Http> = (0..3).map(|_| server.connect().speaking(token.clone())).collect();
        for http in &mut waiting {
            // Its body does not arrive.
            let body = "Content-Type: application/json\r\nContent-Length: 10\r\n";
            http.send(http.head("POST", "/publish", body).as_bytes()).ok()?;
        }
        std::thread::yield_now();
        let mut http = server.connect();
        http.send(http.head("GET", "/status", "").as_bytes()).ok()?;
        let answer = http.answer().ok()?;
        (answer.status == 503 && answer.error() == "too many connections").then_some(())
    });
}

#[test]
fn a_token_with_many_long_polls_leaves_the_others_theirs() {
    let server = Server::with_limits(ServerLimits { connections: 64, ..ServerLimits::default() });
    let token = server.token("a");
    let mut polls: Vec<Http> = (0..40).map(|_| server.connect().speaking(token.clone())).collect();
    for http in &mut polls {
        http.send(http.head("GET", "/messages/a?wait=60", "").as_bytes()).unwrap();
    }
    // All but its share are answered at once.
    wait_until("the polls above the share are answered", || {
        let answered = polls.iter_mut().filter_map(Http::answer_now).count();
        (answered >= 1).then_some(())
    });
    let mut b = server.agent("b");
    b.send(b.head("GET", "/messages/b?wait=60", "").as_bytes()).unwrap();
    let artifact = json!({"type": "agent.artifact", "agent_id": "c", "payload": {"status": "done"}});
    assert_eq!(server.agent("c").publish(&artifact).status, 202);
    assert_eq!(b.answer().unwrap().json()["messages"].as_array().unwrap().len(), 1, "it waited");
}

/// Opens requests whose bodies never arrive.
fn slow_bodies(server: &Server, token: &paw_broker::identity::Token, count: usize) -> Vec<Http> {
    let more = "Content-Type: application/json\r\nContent-Length: 100\r\n";
    let mut all: Vec<Http> = (0..count).map(|_| server.connect().speaking(token.clone())).collect();
    for http in &mut all {
        // The server may have closed a connection that was idle.
        let _ = http.send(http.head("POST", "/publish", more).as_bytes());
    }
    all
}

#[test]
fn a_token_with_slow_bodies_leaves_the_others_their_connections() {
    let server = Server::with_limits(ServerLimits { connections: 16, ..ServerLimits::default() });
    let token = server.token("a");
    let mut slow = slow_bodies(&server, &token, 16);
    wait_until("the requests above the share are refused", || {
        slow.iter_mut().filter_map(Http::answer_now).any(|answer| answer.status == 429).then_some(())
    });
    assert_eq!(server.agent("b").publish(&status("b")).status, 202);
}

#[test]
fn a_message_is_stored_in_the_log_if_the_broker_has_no_connection_left() {
    let server = Server::with_limits(ServerLimits { connections: 4, ..ServerLimits::default() });
    let tokens: Vec<_> = (0..4).map(|number| server.token(&format!("a{number}"))).collect();
    let dir = server.dir.path().join(".git");
    let client = BrokerClient::new(&dir, BrokerConfig::default(), ClientIdentity::default(), None).unwrap();
    let message = paw_broker::message::ArtifactMessage::new(crate::server::id("operator"), "done").into();
    wait_until("all connections are busy", || {
        let _slow: Vec<_> = tokens.iter().flat_map(|token| slow_bodies(&server, token, 1)).collect();
        let sent = client.publish(&message, paw_host::clock::now()).unwrap();
        (sent.route == paw_broker::client::SendRoute::Log).then_some(())
    });
}

#[test]
fn a_connection_with_an_incomplete_head_is_closed() {
    let server =
        Server::with_limits(ServerLimits { idle: Duration::from_millis(300), ..ServerLimits::default() });
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /status HTTP/1.1\r\nHost: 127").unwrap();
    let mut rest = Vec::new();
    // The connection is closed, with or without a response.
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn senders_that_nobody_knows_are_refused_once_there_are_more_than_any_session_has() {
    let server = Server::without_tokens();
    let mut anybody = server.connect();
    for agent in 0..paw_broker::record::MAX_AGENTS {
        assert_eq!(anybody.publish(&status(&format!("a-{agent}"))).status, 202);
    }
    let refused = anybody.publish(&status("stranger"));
    let text = "the session has 4096 agents, and takes no messages of others";
    assert_eq!((refused.status, refused.error().as_str()), (403, text));
    assert_eq!(anybody.publish(&status("a-0")).status, 202, "known ones keep working");
}

#[test]
fn binding_to_other_addresses_requires_tokens() {
    use paw_broker::broker::BrokerStartError;
    use paw_core::config::BrokerAuth;
    let dir = tempfile::tempdir().unwrap();
    let mut settings = crate::server::settings(dir.path());
    settings.config.bind = "0.0.0.0".to_owned();
    settings.config.auth = BrokerAuth::None;
    assert!(matches!(paw_broker::Broker::start(settings.clone()), Err(BrokerStartError::Exposed(_))));
    settings.config.bind = "example.org".to_owned();
    assert!(matches!(paw_broker::Broker::start(settings), Err(BrokerStartError::NotAnAddress(_))));
}
