//! The server that a session starts for itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use paw_broker::log::StreamId;
use paw_cluster::nats::{NatsLogin, NatsSettings, NatsStream};
use paw_cluster::server::{OwnServer, require_program};
use paw_core::paths::PawDir;
use paw_testkit::wait_until;
use tokio::runtime::Runtime;

use crate::nats_server::is_missing;
use crate::node::host;

/// The number of the last entry in the stream, asked by a host with this login.
fn last(
    runtime: &Runtime,
    server: &OwnServer,
    stream: &StreamId,
    name: &str,
    login: Option<NatsLogin>,
) -> Option<u64> {
    let (servers, stream) = (vec![server.url()], stream.clone());
    let settings =
        NatsSettings { servers, login, stream, host: host(name), is_hub: name == "hub", replicas: 1 };
    runtime.block_on(async {
        let connection = NatsStream::connect(settings).await.unwrap();
        let mut connections = connection.connections();
        let connected = async {
            while !connection.is_connected() {
                connections.changed().await.unwrap();
            }
            connection.open().await
        };
        tokio::time::timeout(std::time::Duration::from_secs(5), connected)
            .await
            .ok()?
            .ok()
            .map(|state| state.last)
    })
}

#[test]
fn the_server_of_a_session_admits_its_hosts_and_comes_back_on_the_same_port() {
    if is_missing() {
        return;
    }
    require_program(&std::env::var_os("PATH").unwrap_or_default()).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let (dir, stream, runtime) = (PawDir::at(temp.path()), StreamId::random(), Runtime::new().unwrap());
    let mut server = OwnServer::start(&dir, &stream, &host("hub"), &[]).unwrap();
    let hub = server.login(&host("hub"));
    assert_eq!(last(&runtime, &server, &stream, "hub", hub.clone()), Some(0));
    assert_eq!(last(&runtime, &server, &stream, "hub", None), None, "it needs a password");
    assert_eq!(server.login(&host("big")), None);
    server.set_hosts(&[host("big")]).unwrap();
    let big = server.login(&host("big"));
    wait_until("the new host is admitted", || last(&runtime, &server, &stream, "big", big.clone()));
    // Killed, it starts again on the same port, with everything.
    let port = server.port();
    let killed = std::process::Command::new("kill").args(["-KILL", &server.pid().to_string()]).status();
    assert!(killed.unwrap().success());
    wait_until("it is back", || last(&runtime, &server, &stream, "hub", hub.clone()));
    assert_eq!(server.port(), port);
    // A successor ends what was left behind and keeps the passwords.
    let again = OwnServer::start(&dir, &stream, &host("hub"), &[host("big")]).unwrap();
    assert_eq!((again.login(&host("hub")), again.login(&host("big"))), (hub.clone(), big));
    assert_eq!(last(&runtime, &again, &stream, "hub", hub), Some(0));
}

/// A connection to the server, with the login of a host and nothing of git-paw in between.
struct PlainClient(BufReader<TcpStream>);

impl PlainClient {
    fn connect(server: &OwnServer, name: &str) -> Self {
        let Some(NatsLogin::Password { user, password }) = server.login(&host(name)) else {
            panic!("{name} has no password");
        };
        let mut client = Self(BufReader::new(TcpStream::connect(("127.0.0.1", server.port())).unwrap()));
        assert!(client.line().starts_with("INFO "));
        let options = serde_json::json!({"verbose": false, "user": user, "pass": password});
        assert_eq!(client.ask(&format!("CONNECT {options}\r\n")), None, "the login is right");
        client
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Sends something and returns the error that the server answers before it has processed a ping.
    fn ask(&mut self, text: &str) -> Option<String> {
        self.0.get_mut().write_all(format!("{text}PING\r\n").as_bytes()).unwrap();
        let mut error = None;
        loop {
            match self.line() {
                line if line == "PONG" => return error,
                line if line.starts_with("-ERR") => error = Some(line),
                line => assert!(!line.is_empty(), "the connection has ended: {error:?}"),
            }
        }
    }

    fn publish(&mut self, subject: &str) -> Option<String> {
        self.ask(&format!("PUB {subject} 5\r\nhello\r\n"))
    }
}

#[test]
fn the_server_of_a_session_lets_a_host_send_under_its_own_name_only() {
    if is_missing() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (dir, stream, runtime) = (PawDir::at(temp.path()), StreamId::random(), Runtime::new().unwrap());
    let server = OwnServer::start(&dir, &stream, &host("hub"), &[host("big"), host("gpu")]).unwrap();
    let last = || last(&runtime, &server, &stream, "hub", server.login(&host("hub")));
    assert_eq!(last(), Some(0));
    let mut big = PlainClient::connect(&server, "big");
    let api = |verb: &str| format!("$JS.API.STREAM.{verb}.PAW_{stream}");
    let forbidden = [
        format!("paw.{stream}.gpu"),
        format!("paw.{stream}.hub"),
        api("DELETE"),
        api("PURGE"),
        api("UPDATE"),
        api("MSG.DELETE"),
        format!("$JS.API.CONSUMER.DELETE.PAW_{stream}.gpu"),
    ];
    for subject in forbidden {
        let error = big.publish(&subject).unwrap_or_else(|| panic!("{subject} is not refused"));
        assert!(error.to_lowercase().contains("permissions violation for publish"), "{subject}: {error}");
    }
    let error = big.ask("SUB _INBOX_gpu.> 1\r\n").expect("answers to another host are not refused");
    assert!(error.to_lowercase().contains("permissions violation for subscription"), "{error}");
    assert_eq!(last(), Some(0), "nothing was stored");
    assert_eq!(big.publish(&format!("paw.{stream}.big")), None);
    assert_eq!(last(), Some(1), "what it sends as itself is stored");
    // The hub is not limited.
    assert_eq!(PlainClient::connect(&server, "hub").publish(&api("PURGE")), None);
}
