//! The server that a session starts for itself.

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
