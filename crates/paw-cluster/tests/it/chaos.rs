//! Kills, deleted and restored streams while messages are published. `PAW_CLUSTER_ROUNDS` and `PAW_CLUSTER_SEED` choose how many
//! faults and which; `scripts/test-cluster` does.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use paw_broker::log::{self, StreamId};
use paw_testkit::wait_until;

use crate::nats_server::NatsServer;
use crate::node::{HOSTS, Node, log_path, messages, roster};

const DIR: &str = "PAW_CLUSTER_DIR";
const HOST: &str = "PAW_CLUSTER_HOST";
const URL: &str = "PAW_CLUSTER_URL";
const STREAM: &str = "PAW_CLUSTER_STREAM";
/// A child publishes until this file exists.
const DONE: &str = "done";

/// Not a test: a host that publishes and replicates until it is killed.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let dir = Path::new(&dir);
    let [name, url, stream] = [HOST, URL, STREAM].map(|variable| std::env::var(variable).unwrap());
    let node = Node::start(dir, &name, &url, &StreamId::parse(&stream).unwrap(), roster(dir));
    let mut number = node.messages(&name).len() as u64;
    loop {
        if dir.join(DONE).exists() {
            std::thread::park_timeout(Duration::from_mins(1));
        } else {
            number += 1;
            node.publish(number..=number);
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }
}

fn spawn(dir: &Path, name: &str, server: &NatsServer, stream: &StreamId) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "chaos::child", "--nocapture"])
        .envs([(HOST, name), (URL, &server.url()), (STREAM, stream.as_str())])
        .env(DIR, dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The children, killed at the end.
struct Children(Vec<Child>);

impl Children {
    fn kill(&mut self, index: usize) {
        self.0[index].kill().unwrap();
        self.0[index].wait().unwrap();
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().unwrap())
}

/// The same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn killed_hosts_and_servers_and_lost_streams_cost_no_message() {
    let Some(mut server) = NatsServer::start() else { return };
    let (rounds, seed) = (number_from("PAW_CLUSTER_ROUNDS", 6), number_from("PAW_CLUSTER_SEED", 1));
    let mut random = Random(seed);
    let (dir, stream) = (tempfile::tempdir().unwrap(), StreamId::random());
    let path = dir.path();
    // Every child makes the same roster from the same keys.
    roster(path);
    let mut children = Children(HOSTS.iter().map(|name| spawn(path, name, &server, &stream)).collect());
    let logs = HOSTS.map(|name| wait_until("a log exists", || log::find(&log_path(path, name)).unwrap()));
    let count = |of: usize, at: usize| messages(&*logs[at], HOSTS[of]).len();
    let mut backup = server.back_up();
    for round in 0..rounds {
        // Each fault hits messages on their way.
        let (of, at) = (random.below(3) as usize, random.below(3) as usize);
        let enough = count(of, at) + 5 + random.below(100) as usize;
        wait_until("messages arrive", || (count(of, at) >= enough).then_some(()));
        // The first rounds of every run have each kind of fault.
        match if round < 6 { round } else { random.below(6) } {
            0 => {
                server.kill();
                server.run();
            }
            1 => server.delete_streams(),
            2 => backup = server.back_up(),
            3 => server.restore(&backup),
            _ => {
                let index = random.below(3) as usize;
                children.kill(index);
                children.0[index] = spawn(path, HOSTS[index], &server, &stream);
            }
        }
    }
    fs::write(path.join(DONE), "").unwrap();
    for of in 0..HOSTS.len() {
        let published = wait_until("the host publishes nothing more", || {
            let before = count(of, of);
            std::thread::park_timeout(Duration::from_millis(100));
            (count(of, of) == before).then_some(before)
        });
        for (log, at) in logs.iter().zip(HOSTS) {
            wait_until("all messages arrive", || {
                (messages(&**log, HOSTS[of]).len() >= published).then_some(())
            });
            let found = messages(&**log, HOSTS[of]);
            let expected: Vec<u64> = (1..=published as u64).collect();
            assert_eq!(found, expected, "messages of {} at {at}, seed {seed}", HOSTS[of]);
        }
    }
}
