//! Messages between hosts over a server that works.

use std::path::Path;

use paw_broker::log::{LogEpoch, LogError, StreamId};
use paw_broker::message::{ArtifactMessage, Message, QuestionMessage, StatusMessage};
use paw_cluster::batch::{Batch, BatchHeader, BatchRow};
use paw_cluster::nats::{NatsSettings, NatsStream, SendOutcome};
use paw_cluster::replicator::{ReplicationError, ReplicationProblem};
use paw_cluster::roster::Roster;
use paw_core::AgentId;
use paw_host::clock;
use paw_testkit::wait_until;

use crate::nats_server::{NatsServer, OLD_PROGRAM};
use crate::node::{HOSTS, Node, agent, host, key, roster};

fn start(dir: &Path, server: &NatsServer, stream: &StreamId) -> Vec<Node> {
    let url = server.url();
    HOSTS.iter().map(|name| Node::start(dir, name, &url, stream, roster(dir))).collect()
}

/// Waits until every log has these messages of every host, once and in order.
fn wait_for(nodes: &[Node], expected: &[u64]) {
    for node in nodes {
        for of in HOSTS {
            wait_until("all messages arrive", || (node.messages(of).len() >= expected.len()).then_some(()));
            assert_eq!(node.messages(of), expected, "{of}");
        }
    }
}

#[test]
fn every_host_gets_the_messages_of_the_others_once_and_in_order() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let nodes = start(dir.path(), &server, &stream);
    std::thread::scope(|scope| {
        for node in &nodes {
            scope.spawn(|| node.publish(1..=300));
        }
    });
    wait_for(&nodes, &(1..=300).collect::<Vec<_>>());
    let forged = format!("paw.{stream}.big");
    server.store_entry(&forged, r#"{"stream":"PAW_x","seq":7}"#);
    for node in &nodes {
        node.publish(301..=310);
    }
    wait_for(&nodes, &(1..=310).collect::<Vec<_>>());
    for node in &nodes {
        assert_eq!(node.status.borrow().skipped, 1, "the forged entry");
    }
    // A host that starts again reads and sends nothing twice.
    drop(nodes);
    let nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(311..=315);
    }
    wait_for(&nodes, &(1..=315).collect::<Vec<_>>());
}

/// A host can have the server store entries under subjects of its choice. They stop no other host.
#[test]
fn an_entry_under_a_subject_that_only_resembles_that_of_a_host_stops_nothing() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(1..=3);
    }
    wait_for(&nodes, &[1, 2, 3]);
    for host in HOSTS {
        for between in ["x.", "x.y.", &format!("{}.", HOSTS[0])] {
            server.store_entry(&format!("paw.{stream}.{between}{host}"), r#"{"stream":"PAW_x","seq":7}"#);
        }
    }
    wait_until("the entries are read", || {
        nodes.iter().all(|node| node.status.borrow().skipped == 9).then_some(())
    });
    // A host that starts again looks for its last batch in the stream.
    drop(nodes);
    let nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(4..=6);
    }
    wait_for(&nodes, &(1..=6).collect::<Vec<_>>());
}

#[test]
fn ten_thousand_messages_that_were_queued_without_a_connection_arrive_afterwards() {
    let Some(mut server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(1..=1);
    }
    wait_for(&nodes, &[1]);
    server.kill();
    std::thread::scope(|scope| {
        for node in &nodes {
            scope.spawn(|| node.publish(2..=3_400));
        }
    });
    assert_eq!(nodes[0].messages("big"), [1], "there is no connection");
    server.run();
    wait_for(&nodes, &(1..=3_400).collect::<Vec<_>>());
}

#[test]
fn servers_of_debian_work_and_an_upgrade_on_the_same_files_costs_no_message() {
    let Some(mut server) = NatsServer::start_program(OLD_PROGRAM) else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(1..=200);
    }
    wait_for(&nodes, &(1..=200).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for node in &nodes {
            scope.spawn(|| node.publish(201..=600));
        }
        server.upgrade();
    });
    wait_for(&nodes, &(1..=600).collect::<Vec<_>>());
    // A host that starts again reads and sends nothing twice.
    drop(nodes);
    let nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(601..=610);
    }
    wait_for(&nodes, &(1..=610).collect::<Vec<_>>());
}

#[test]
fn clocks_that_differ_by_an_hour_change_neither_delivery_nor_order() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let nodes = start(dir.path(), &server, &stream);
    let hour = jiff::SignedDuration::from_hours(1);
    let publish = |node: &Node, name: &str, number: u64, skew: jiff::SignedDuration| {
        let message = ArtifactMessage::new(agent(name), number.to_string());
        node.bus.publish_blocking(message.into(), clock::now() + skew).unwrap();
    };
    // The clock of one host is set back by two hours in between.
    for number in 1..=100 {
        publish(&nodes[0], HOSTS[0], number, jiff::SignedDuration::ZERO);
        publish(&nodes[1], HOSTS[1], number, if number <= 50 { hour } else { -hour });
        publish(&nodes[2], HOSTS[2], number, -hour);
    }
    wait_for(&nodes, &(1..=100).collect::<Vec<_>>());
    // A question with the time of a clock that is ahead does not swallow the next one.
    let ask = |skew| {
        let question = QuestionMessage::new(agent(HOSTS[1]), "which port?");
        nodes[1].bus.publish_blocking(question.into(), clock::now() + skew).unwrap()
    };
    assert_ne!(ask(hour), ask(-hour), "more than a minute lies between them");
}

#[test]
fn the_hub_announces_a_new_host_before_its_messages_count() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let alone = Roster::new(host("hub"), key(dir.path(), "hub").public());
    let hub = Node::start(dir.path(), "hub", &server.url(), &stream, alone.clone());
    let big = Node::start(dir.path(), "big", &server.url(), &stream, roster(dir.path()));
    big.publish(1..=2);
    wait_until("the hub reads messages of an unknown host", || {
        (hub.status.borrow().skipped > 0).then_some(())
    });
    assert_eq!(hub.messages("big"), [0; 0]);
    let mut changed = alone;
    changed.add_host(host("big"), key(dir.path(), "big").public());
    changed.grant(&host("big"), agent("big"));
    let version = changed.version;
    hub.roster.send_replace(changed);
    wait_until("the hub has announced the host", || (hub.status.borrow().announced == version).then_some(()));
    wait_until("the messages of the new host arrive", || (hub.messages("big") == [1, 2]).then_some(()));
    // It speaks for its own agent only.
    big.publish_as("gpu", 1);
    big.publish(3..=3);
    wait_until("further messages arrive", || (hub.messages("big") == [1, 2, 3]).then_some(()));
    assert_eq!(hub.messages("gpu"), [0; 0]);
}

#[test]
fn a_thousand_agents_on_fifty_hosts_are_known_on_the_hub() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let hosts: Vec<_> = (0..50).map(|number| format!("host-{number}")).collect();
    let agents =
        |host: &str| (0..20).map(|number| agent(&format!("{host}-agent-{number}"))).collect::<Vec<_>>();
    let mut roster = Roster::new(host("hub"), key(dir.path(), "hub").public());
    for name in &hosts {
        roster.add_host(host(name), key(dir.path(), name).public());
        for agent in agents(name) {
            assert!(roster.grant(&host(name), agent));
        }
    }
    let hub = Node::start(dir.path(), "hub", &server.url(), &stream, roster);
    wait_until("the stream exists", || hub.status.borrow().is_connected.then_some(()));
    let statuses = |name: &str| -> Vec<BatchRow<'static>> {
        let status = |agent: AgentId| Message::from(StatusMessage::new(agent, "working")).to_text().into();
        let rows = (1..).zip(agents(name)).map(|(seq, agent)| (seq, status(agent)));
        rows.map(|(seq, body)| BatchRow { seq, at: clock::now(), body }).collect()
    };
    for name in &hosts {
        let sent = hub.runtime.block_on(async {
            let settings = NatsSettings {
                servers: vec![server.url()],
                login: None,
                stream: stream.clone(),
                host: host(name),
                is_hub: false,
                replicas: 1,
            };
            let nats = NatsStream::connect(settings).await.unwrap();
            nats.wait_until_connected().await;
            let header = BatchHeader::new(stream.clone(), host(name), LogEpoch::random(), "1".to_owned());
            nats.send(Batch { header, rows: statuses(name) }.sign(&key(dir.path(), name)), 0).await
        });
        assert!(matches!(sent, SendOutcome::Stored(_)), "{sent:?}");
    }
    wait_until("all agents have a record", || (hub.bus.records().iter().count() == 1000).then_some(()));
    assert_eq!(hub.status.borrow().skipped, 0);
}

#[test]
fn a_purged_session_ends_its_replication_and_does_not_come_back() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let mut nodes = start(dir.path(), &server, &stream);
    for node in &nodes {
        node.publish(1..=5);
    }
    wait_for(&nodes, &[1, 2, 3, 4, 5]);
    let mut gone = nodes.pop().unwrap();
    gone.log.purge(&crate::node::session()).unwrap();
    nodes[0].publish(6..=6);
    let ended = gone.runtime.block_on(&mut gone.task).unwrap();
    assert!(matches!(ended, ReplicationError::Log(LogError::Purged)), "{ended}");
    assert_eq!(gone.messages("hub"), [0; 0]);
}

#[test]
fn a_second_hub_of_one_session_is_refused_as_long_as_the_first_one_runs() {
    let Some(server) = NatsServer::start() else { return };
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let stream = StreamId::random();
    let nodes = start(dir.path(), &server, &stream);
    let hub = |dir: &Path| dir.join(HOSTS[0]);
    std::fs::create_dir(hub(other.path())).unwrap();
    std::fs::copy(hub(dir.path()).join("host.key"), hub(other.path()).join("host.key")).unwrap();
    for node in &nodes {
        node.publish(1..=3);
    }
    wait_for(&nodes, &[1, 2, 3]);
    let second = Node::start(other.path(), HOSTS[0], &server.url(), &stream, roster(dir.path()));
    second.publish(99..=99);
    wait_until("the second hub is refused", || {
        let problem = second.status.borrow().problem.clone();
        problem.filter(|problem| *problem == ReplicationProblem::OtherHub)
    });
    for node in &nodes {
        node.publish(4..=5);
    }
    wait_for(&nodes, &[1, 2, 3, 4, 5]);
    drop(nodes);
    wait_until("it takes over", || second.status.borrow().is_connected.then_some(()));
}
