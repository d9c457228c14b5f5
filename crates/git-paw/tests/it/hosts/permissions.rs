//! What a machine may say: its entries in the stream, and how far each machine has read.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use paw_broker::log::{LogEpoch, StreamId};
use paw_broker::message::{Message, StatusMessage};
use paw_cluster::batch::{Batch, BatchHeader, BatchRow};
use paw_core::{AgentId, HostName};
use paw_host::clock;
use paw_host::signing::SecretKey;
use paw_testkit::wait_until;
use serde_json::{Value, json};

use super::{TwoMachines, audit};
use crate::paw::document;

/// The session's NATS server, with what the other machine knows: the address, its login and its key.
struct StolenMachine {
    stream: StreamId,
    key: SecretKey,
    server: BufReader<TcpStream>,
}

impl StolenMachine {
    fn connect(world: &TwoMachines) -> Self {
        let link = world.clone().join(".git/paw/cluster-link.json");
        let link: Value = serde_json::from_str(&fs::read_to_string(link).unwrap()).unwrap();
        let address = link["servers"][0].as_str().unwrap().trim_start_matches("nats://").to_owned();
        let status = document(&world.run(&["cluster", "status", "--json"]));
        let stream = status["stream"].as_str().unwrap().trim_start_matches("PAW_").to_owned();
        let key = world.machine.there().join(".local/share/git-paw/host.key");
        let server = BufReader::new(TcpStream::connect(address).unwrap());
        let (stream, key) = (StreamId::parse(&stream).unwrap(), SecretKey::open(&key).unwrap());
        let mut stolen = Self { stream, key, server };
        let login = json!({"verbose": false, "headers": true, "user": link["login"]["user"], "pass": link["login"]["password"]});
        stolen.say(format!("CONNECT {login}\r\n").as_bytes());
        stolen
    }

    /// Sends something, which the server accepts.
    fn say(&mut self, bytes: &[u8]) {
        self.server.get_mut().write_all(&[bytes, b"PING\r\n"].concat()).unwrap();
        let mut line = String::new();
        while line.trim() != "PONG" {
            line.clear();
            assert!(self.server.read_line(&mut line).unwrap() > 0, "the connection has ended");
            assert!(!line.starts_with("-ERR"), "{line}");
        }
    }

    /// Stores an entry under the name of the machine.
    fn store(&mut self, signature: &str, payload: &[u8]) {
        let header = format!("NATS/1.0\r\nPaw-Signature: {signature}\r\n\r\n");
        let (subject, size) = (format!("paw.{}.big", self.stream), header.len() + payload.len());
        let start = format!("HPUB {subject} {} {size}\r\n{header}", header.len());
        self.say(&[start.as_bytes(), payload, b"\r\n"].concat());
    }

    /// A batch with one message of an agent, signed with the key of the machine.
    fn speak_for(&mut self, agent: &str, text: &str) {
        let host = HostName::new("big").unwrap();
        let header = BatchHeader::new(self.stream.clone(), host, LogEpoch::random(), "1".to_owned());
        let mut message = StatusMessage::new(AgentId::new(agent).unwrap(), "working");
        message.message = Some(text.to_owned());
        let body = Message::from(message).to_text().into();
        let batch = Batch { header, rows: vec![BatchRow { seq: 1, at: clock::now(), body }] };
        let signed = batch.sign(&self.key);
        self.store(&signed.signature, &signed.payload);
    }
}

fn cluster(world: &TwoMachines) -> Value {
    document(&world.run(&["cluster", "status", "--json"]))
}

#[test]
fn cluster_status_counts_what_a_machine_may_not_say() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    assert_eq!(cluster(&world)["replication"]["skipped"], 0);
    let mut stolen = StolenMachine::connect(&world);
    stolen.store("00", b"not a batch");
    wait_until("an unsigned entry is counted", || {
        (cluster(&world)["replication"]["skipped"] == 1).then_some(())
    });
    let shown = world.run(&["cluster", "status"]);
    assert!(shown.stdout.contains(", 1 message skipped"), "{shown}");
    // Its own signature is right, but the agent is not its own.
    stolen.speak_for("feat-a", "the forged status");
    wait_until("a message for another machine's agent is counted", || {
        (cluster(&world)["replication"]["skipped"] == 2).then_some(())
    });
    assert!(world.logs().contains("of the host 'big'"), "the log says which: {}", world.logs());
    // What it may say still arrives.
    world.ask();
    wait_until("a question arrives", || audit(&world.repo.root).contains("may I rename it?").then_some(()));
    assert!(!audit(&world.repo.root).contains("the forged status"));
}

#[test]
fn cluster_status_shows_how_far_a_machine_is_behind() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let lag = || {
        let status = cluster(&world);
        let hosts = status["hosts"].as_array().unwrap().iter();
        hosts.filter(|host| host["name"] == "big").find_map(|host| host["lag"].as_u64())
    };
    world.run(&["tell", "feat-b", "message one", "--inbox"]);
    wait_until("it has read everything", || (lag() == Some(0)).then_some(()));
    world.end_session_there();
    for text in ["message two", "message three"] {
        world.run(&["tell", "feat-b", text, "--inbox"]);
    }
    let behind = wait_until("it is behind", || lag().filter(|lag| *lag > 0));
    let shown = world.run(&["cluster", "status"]);
    let line = shown.stdout.lines().find(|line| line.starts_with("big")).unwrap_or_default().to_owned();
    assert!(
        line.split_whitespace().any(|word| word.parse::<u64>().is_ok_and(|lag| lag >= behind)),
        "{shown}"
    );
    world.run(&["start"]);
    wait_until("it has read everything again", || (lag() == Some(0)).then_some(()));
}

#[test]
fn learnings_of_an_agent_on_another_machine_are_collected_on_the_hub() {
    let Some(world) = TwoMachines::new() else { return };
    let config = "[hosts.big]\nssh = \"big\"\n[supervisor]\ntest_command = \"true\"\n\
                  [supervisor.learnings]\nenabled = true\nflush_interval_seconds = 1\n";
    world.machine.sandbox.write("home/.config/git-paw/config.toml", config);
    let noticing = format!(
        "#!/bin/sh\nuntil [ -e {0}/go ]; do sleep 0.1; done\n\
         git-paw say learning 'the tests need a database' --category tooling-friction >{0}/said 2>&1\nexec sleep 1000\n",
        world.machine.there().display()
    );
    let cli = world.machine.sandbox.install_program("noticing", &noticing);
    fs::rename(cli, world.machine.bin().join("claude")).unwrap();
    world.start();
    world.wait_until_reachable(true);
    world.ask();
    wait_until("the learning arrives", || {
        audit(&world.repo.root).contains("the tests need a database").then_some(())
    });
    let learned = |root: &std::path::Path| {
        fs::read_to_string(root.join(".git-paw/session-learnings.md")).unwrap_or_default()
    };
    world.run(&["stop", "--force"]);
    wait_until("the hub has written it", || {
        learned(&world.repo.root).contains("the tests need a database").then_some(())
    });
    assert_eq!(learned(&world.clone()), "", "only the hub collects them");
}
